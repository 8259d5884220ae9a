//! Reusable handshakes and reusable logins, opened under a static token, by which a repeated request finds them.

use super::Handshakes;
use crate::kernel::request_errors::StartError;
use crate::login::key_handshake::{KeyHandshake, LoginUrl};
use crate::ports::{CorrelationKey, NewIdempotencyRecord, StoreError};
use crate::registry::Operation;
use crate::{Requester, StreamId};

const MAX_STATIC_TOKEN: usize = 128;

pub(crate) enum Wanted {
    Handshake {
        /// `None` means `false`, or the existing value.
        no_request: Option<bool>,
    },
    Login {
        /// `None` means none, or the existing one.
        return_url: Option<String>,
    },
}

pub(crate) struct Opened {
    pub(crate) stream_id: StreamId,
    pub(crate) handshake: KeyHandshake,
    pub(crate) is_new: bool,
}

impl Handshakes {
    /// Opens a static token, or finds the operation open under it. `record` makes the stored response of a new one.
    pub(crate) async fn open_static_token(
        &self,
        requester: &Requester,
        token: &str,
        wanted: &Wanted,
        record: impl Fn(StreamId, &KeyHandshake) -> Option<NewIdempotencyRecord>,
    ) -> Result<Opened, StartError> {
        check_static_token(token)?;
        // Also the random token of something else, which the app may have seen: the store does not look for those.
        let keys = [CorrelationKey::static_token(token), CorrelationKey::token(token)];
        if let Some(stream_id) = keys.into_iter().find_map(|key| self.core.index.find(key))
            && let Some(opened) = self.same_static_token(requester, stream_id, token, wanted).await?
        {
            return Ok(opened);
        }
        let mut suffix: Option<String> = None;
        // Retries if a concurrent request opens the token and it is closed meanwhile.
        for _ in 0..8 {
            let stream_id = self.core.ids.stream_id();
            let mut handshake = self.reusable(stream_id, token, wanted)?;
            if let Some(suffix) = &suffix {
                handshake = handshake.with_suffix(suffix);
            }
            let (operation, record) = (Operation::KeyHandshake(handshake.clone()), record(stream_id, &handshake));
            let Some(owner) = self.starter.create(stream_id, requester.origin(), operation, Vec::new(), record).await?
            else {
                return Ok(Opened { stream_id, handshake, is_new: true });
            };
            match self.same_static_token(requester, owner, token, wanted).await? {
                Some(opened) => return Ok(opened),
                // The URL of a closed one stays invalid, so this one gets another token.
                None => suffix = Some(self.core.ids.suffix()),
            }
        }
        Err(StoreError::Unexpected("a static token is closed again and again").into())
    }

    fn reusable(&self, stream_id: StreamId, token: &str, wanted: &Wanted) -> Result<KeyHandshake, StartError> {
        match wanted {
            Wanted::Handshake { no_request } => {
                Ok(KeyHandshake::reusable(token.to_owned(), no_request.unwrap_or_default()))
            }
            Wanted::Login { return_url } => {
                let return_url = self.pages.login_return_url(return_url.as_deref(), stream_id)?;
                let login = LoginUrl::new(stream_id, self.core.ids.token());
                Ok(KeyHandshake::reusable_login(token.to_owned(), login).returning_to(return_url))
            }
        }
    }

    async fn same_static_token(
        &self,
        requester: &Requester,
        stream_id: StreamId,
        token: &str,
        wanted: &Wanted,
    ) -> Result<Option<Opened>, StartError> {
        // A missing operation was closed and removed.
        let Some(stored) = self.core.store.operation(&Requester::Service, stream_id).await? else { return Ok(None) };
        if stored.finished_at.is_some() {
            return Ok(None);
        }
        let refused = |detail: &str| Err(StartError::invalid("/static_token", detail));
        if !requester.sees(stored.origin) {
            return refused("is open already, for another client");
        }
        let open = match Operation::from_state(&stored.state) {
            Ok(Operation::KeyHandshake(open)) if open.is_reusable() => open,
            Ok(_) => return refused("is the token of a single-use handshake or login"),
            Err(_) => return Err(StoreError::Unreadable("the state of an operation").into()),
        };
        if open.static_token() != token {
            return refused(
                "reads like another static token that is open: one is the percent-encoded form of the other",
            );
        }
        match (wanted, open.login()) {
            (Wanted::Handshake { .. }, Some(_)) => {
                return refused("is open as a login (POST /login); close that one first, or choose another");
            }
            (Wanted::Login { .. }, None) => {
                return refused(
                    "is open as a key handshake (POST /key-handshake); close that one first, or choose another",
                );
            }
            (Wanted::Handshake { no_request }, None) => {
                if no_request.is_some_and(|wanted| wanted != open.no_request()) {
                    let detail = format!("this static token was opened with no_request = {}", open.no_request());
                    return Err(StartError::invalid("/no_request", detail));
                }
            }
            (Wanted::Login { return_url }, Some(_)) => {
                let wanted = self.pages.login_return_url(return_url.as_deref(), stream_id)?;
                if wanted.is_some_and(|wanted| open.return_url() != Some(&wanted)) {
                    let detail = "this static token was opened with another return_url, or without one";
                    return Err(StartError::invalid("/return_url", detail));
                }
            }
        }
        Ok(Some(Opened { stream_id, handshake: open, is_new: false }))
    }
}

fn check_static_token(token: &str) -> Result<(), StartError> {
    if token.is_empty() || token.len() > MAX_STATIC_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let detail = format!("must be 1 to {MAX_STATIC_TOKEN} visible ASCII characters");
        return Err(StartError::invalid("/static_token", detail));
    }
    Ok(())
}
