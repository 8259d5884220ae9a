//! Starts a key handshake.

use super::{IdempotentRequest, KeyedPage, Starter};
use crate::StreamId;
use crate::engine::StartError;
use crate::operations::{KeyHandshake, Operation};
use crate::ports::{CorrelationKey, StoreError};

/// Longest static token, in characters.
const MAX_STATIC_TOKEN: usize = 128;

/// Asks for a handshake URL.
#[derive(Clone, Debug, Default)]
pub struct KeyHandshakeRequest {
    /// Makes the URL reusable; 1 to 128 visible ASCII characters.
    pub static_token: Option<String>,
    /// Handshake only: tells the wallet that no authentication challenge follows. `None` means `false`, or, for a
    /// static token that is open already, the value that it was opened with.
    pub no_request: Option<bool>,
    /// Where its page leads to at the end; under one of `pages.return_urls`. Not with a static token.
    pub return_url: Option<String>,
}

/// A handshake that has started.
#[derive(Clone, Debug)]
pub struct KeyHandshakeStarted {
    /// Its stream.
    pub stream_id: StreamId,
    /// The URL to show to the user. Whoever has it can respond in the user's place.
    pub url: String,
    /// The page for the user's browser, which shows the URL.
    pub page_url: String,
}

impl Starter {
    /// See [`Engine::start_key_handshake`](crate::Engine::start_key_handshake).
    pub(in crate::engine) async fn start_key_handshake(
        &self,
        request: KeyHandshakeRequest,
        once: Option<IdempotentRequest<KeyHandshakeStarted>>,
    ) -> Result<KeyHandshakeStarted, StartError> {
        let no_request = request.no_request;
        let Some(token) = request.static_token else {
            let expires_at = self.clock.now().plus(self.rules.handshake_ttl);
            let stream_id = self.ids.stream_id();
            let return_url = self.rules.pages.return_url(request.return_url.as_deref(), stream_id)?;
            let handshake = KeyHandshake::single_use(self.ids.token(), no_request.unwrap_or_default(), expires_at);
            let handshake = handshake.returning_to(return_url);
            return match self.open_handshake(stream_id, handshake, once.as_ref()).await? {
                Ok(started) => Ok(started),
                Err(_) => Err(StoreError::Unreadable("a random token was there already").into()),
            };
        };
        check_static_token(&token)?;
        if request.return_url.is_some() {
            return Err(StartError::invalid("/return_url", "is not possible with static_token: its page never ends"));
        }
        if let Some(stream_id) = self.index.find(CorrelationKey::static_token(&token))
            && let Some(started) = self.same_static_token(stream_id, &token, no_request).await?
        {
            return self.respond(once, started).await;
        }
        let mut handshake = KeyHandshake::reusable(token.clone(), no_request.unwrap_or_default());
        // A concurrent request with the same static token may be faster, and the handshake that it opens may be closed
        // meanwhile: then it is tried again.
        for _ in 0..8 {
            match self.open_handshake(self.ids.stream_id(), handshake.clone(), once.as_ref()).await? {
                Ok(started) => return Ok(started),
                Err(owner) => match self.same_static_token(owner, &token, no_request).await? {
                    Some(started) => return self.respond(once, started).await,
                    // The URL of the handshake that was closed stays invalid: this one gets another.
                    None => handshake = handshake.with_suffix(&self.ids.suffix()),
                },
            }
        }
        Err(StoreError::Unreadable("a static token is closed again and again").into())
    }

    /// Commits a new handshake, or returns the one that has its token.
    async fn open_handshake(
        &self,
        stream_id: StreamId,
        handshake: KeyHandshake,
        once: Option<&IdempotentRequest<KeyHandshakeStarted>>,
    ) -> Result<Result<KeyHandshakeStarted, StreamId>, StartError> {
        let started = self.started(stream_id, &handshake);
        let record = once.map(|once| once.record(&started, self.clock.now()));
        let reusable = handshake.is_reusable();
        let owner = self.create(stream_id, Operation::KeyHandshake(handshake), Vec::new(), record).await?;
        if owner.is_none() && reusable {
            self.reusable_handshakes.add(stream_id);
        }
        Ok(owner.map_or(Ok(started), Err))
    }

    fn started(&self, stream_id: StreamId, handshake: &KeyHandshake) -> KeyHandshakeStarted {
        KeyHandshakeStarted {
            stream_id,
            url: self.urls.url(handshake.token(), handshake.no_request()),
            page_url: self.rules.pages.page_url(KeyedPage::Handshake, stream_id),
        }
    }

    /// The open handshake of this static token; `None` when it is closed.
    async fn same_static_token(
        &self,
        stream_id: StreamId,
        token: &str,
        no_request: Option<bool>,
    ) -> Result<Option<KeyHandshakeStarted>, StartError> {
        // One that does not exist any more was closed so long ago that it was removed.
        let Some(stored) = self.store.operation(stream_id).await? else { return Ok(None) };
        if stored.finished_at.is_some() {
            return Ok(None);
        }
        match Operation::from_state(&stored.state) {
            Ok(Operation::KeyHandshake(open)) if !open.is_reusable() => {
                Err(StartError::invalid("/static_token", "is the token of a single-use handshake"))
            }
            Ok(Operation::KeyHandshake(open)) if open.static_token() != token => {
                let detail =
                    "reads like another static token that is open: one is the percent-encoded form of the other";
                Err(StartError::invalid("/static_token", detail))
            }
            Ok(Operation::KeyHandshake(open)) if no_request.is_some_and(|wanted| wanted != open.no_request()) => {
                let detail = format!("this static token was opened with no_request = {}", open.no_request());
                Err(StartError::invalid("/no_request", detail))
            }
            Ok(Operation::KeyHandshake(open)) => Ok(Some(self.started(stream_id, &open))),
            Ok(_) | Err(_) => Err(StoreError::Unreadable("a handshake's token belongs to something else").into()),
        }
    }
}

fn check_static_token(token: &str) -> Result<(), StartError> {
    if token.is_empty() || token.len() > MAX_STATIC_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let detail = format!("must be 1 to {MAX_STATIC_TOKEN} visible ASCII characters");
        return Err(StartError::invalid("/static_token", detail));
    }
    Ok(())
}
