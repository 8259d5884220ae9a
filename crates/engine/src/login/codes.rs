//! Codes of logins: the page of an approved login gives its code to the browser, and the app redeems it
//! (`login/operation/redemption.rs`). A code is derived from the service's secret and the login's id, and not stored. A
//! code at a reusable login begins with the id of the browser's login, because the app knows only the stream of the
//! reusable one.

use url::Url;

use super::Logins;
use crate::kernel::commit::{Modified, Stored};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::ModifyError;
use crate::login::operation::{Login, LoginRedeemed, RedeemFault};
use crate::ports::StoreError;
use crate::registry::Operation;
use crate::{Requester, StreamId};

/// Why a code was not redeemed.
#[derive(Debug, thiserror::Error)]
pub enum RedeemError {
    /// There is no login with this stream.
    #[error("no such login")]
    NotFound,
    /// The login has no `return_url`, so its page gives no code.
    #[error("the login has no code")]
    NoCode,
    /// The code is wrong.
    #[error("not the code of this login")]
    Wrong,
    /// The code was redeemed before.
    #[error("the code was redeemed before")]
    Redeemed,
    /// The code is too old, or its reusable login was closed.
    #[error("the code has expired")]
    Expired,
    /// The idempotent request was executed before.
    #[error("the request was done before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RedeemFault> for RedeemError {
    fn from(fault: RedeemFault) -> Self {
        match fault {
            // The page has not issued the code.
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
    /// Where the page of a login redirects; for its own browser, with the code once there is one.
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

    /// Redeems the code that a browser has brought to the app from the page of the login `stream`, or of a login at
    /// this reusable one: returns who has logged in, and emits `approved`.
    pub async fn redeem(
        &self,
        requester: &Requester,
        stream: StreamId,
        code: &str,
        once: Option<IdempotentRequest<LoginRedeemed>>,
    ) -> Result<LoginRedeemed, RedeemError> {
        // If the reusable login is closed at this moment, its stream no longer gets the event.
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
                // Logins begun by browsers belong to nobody: access to the reusable login includes them.
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
