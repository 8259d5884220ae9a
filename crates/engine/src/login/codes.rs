//! The codes of logins: the page of an approved login gives its code to the browser, and the app redeems it
//! (`login/operation/redemption.rs`). A code is derived from the service's secret and the login's id, and stored
//! nowhere. A code at a reusable login begins with the id of the browser's login, because the app knows only the stream
//! of the reusable one.

use url::Url;

use super::Logins;
use crate::kernel::commit::{Modified, ModifyError, Stored};
use crate::kernel::idempotency::IdempotentRequest;
use crate::operations::{Login, LoginRedeemed, Operation, RedeemFault};
use crate::ports::StoreError;
use crate::{Requester, StreamId};

/// Why a code was not redeemed.
#[derive(Debug, thiserror::Error)]
pub enum RedeemError {
    /// There is no login with this stream, or it was removed after its retention.
    #[error("no such login")]
    NotFound,
    /// The login has no `return_url`, so its page gives no code.
    #[error("the login has no code")]
    NoCode,
    /// It is not the code of this login.
    #[error("not the code of this login")]
    Wrong,
    /// The code was redeemed before.
    #[error("the code was redeemed before")]
    Redeemed,
    /// The code is too old, or its reusable login was closed.
    #[error("the code has expired")]
    Expired,
    /// The idempotent request was done before.
    #[error("the request was done before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RedeemFault> for RedeemError {
    fn from(fault: RedeemFault) -> Self {
        match fault {
            // The page has given it to nobody.
            RedeemFault::NotApproved => Self::Wrong,
            RedeemFault::Redeemed => Self::Redeemed,
            RedeemFault::Expired => Self::Expired,
        }
    }
}

impl ModifyError for RedeemError {
    fn repeated() -> Self {
        Self::Repeated
    }
}

impl Logins {
    /// Where the page of a login leads to; for the browser that the page belongs to, with the code once there is one.
    pub(crate) fn return_url(&self, id: StreamId, login: &Login) -> Option<String> {
        let address = login.return_url()?;
        if login.browser().is_none() || !login.has_code() {
            return Some(address.to_owned());
        }
        let code = self.pages.login_code(id);
        let code = if login.reusable().is_some() { format!("{id}.{code}") } else { code };
        let mut address = Url::parse(address).ok()?;
        address.query_pairs_mut().append_pair("code", &code);
        Some(address.into())
    }

    /// The app redeems the code that a browser has brought it from the page of the login `stream`, or of a login at this
    /// reusable one: it learns who has logged in, and the stream gets `approved`.
    pub async fn redeem(
        &self,
        requester: &Requester,
        stream: StreamId,
        code: &str,
        once: Option<IdempotentRequest<LoginRedeemed>>,
    ) -> Result<LoginRedeemed, RedeemError> {
        // If the operator closes the reusable login at this moment, its stream does not get the event any more.
        let redeemed = self.starter.committer.modify(
            Operation::Login,
            || async { self.find_by_code(requester, stream, code).await.map(Some) },
            |login, now| {
                let (redeemed, effects) = login.redeem(now)?;
                let record = once.as_ref().map(|once| once.record(&redeemed, now));
                Ok(Modified::Changed { effects, record, result: redeemed })
            },
        );
        redeemed.await?.ok_or(RedeemError::NotFound)
    }

    async fn find_by_code(
        &self,
        requester: &Requester,
        stream: StreamId,
        code: &str,
    ) -> Result<Stored<Login>, RedeemError> {
        let ((id, version, login), code) = match self.find(requester, stream).await? {
            Some(found) => (found, code),
            None => {
                let is_closed = self.is_closed(requester, stream).await?.ok_or(RedeemError::NotFound)?;
                let (id, code) = code.split_once('.').ok_or(RedeemError::Wrong)?;
                let id = id.parse().map_err(|_| RedeemError::Wrong)?;
                // A browser has begun it: it is of nobody, and who sees the reusable login may have what was logged in with there.
                let found =
                    self.find(&Requester::Service, id).await?.filter(|(_, _, login)| login.reusable() == Some(stream));
                let found = found.ok_or(RedeemError::Wrong)?;
                if is_closed {
                    return Err(RedeemError::Expired);
                }
                (found, code)
            }
        };
        if id == stream && login.reusable().is_some() {
            // The app knows only the stream of the reusable login.
            return Err(RedeemError::NotFound);
        }
        if !login.needs_code() {
            return Err(RedeemError::NoCode);
        }
        if !self.pages.is_login_code(id, code) {
            return Err(RedeemError::Wrong);
        }
        Ok((id, version, login))
    }
}
