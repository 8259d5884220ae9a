//! Starts a key handshake.

use super::Handshakes;
use super::static_token::Wanted;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::login::key_handshake::KeyHandshake;
use crate::page_rules::KeyedPage;
use crate::registry::Operation;
use crate::request_body;
use crate::request_body::{Flag, Nullable, VisibleAscii, WebUrl};
use crate::{Requester, StreamId};

request_body! {
    /// The kind of handshake URL. Every field is optional, and so is the body.
    #[derive(Clone, Debug, Default)]
    pub struct KeyHandshakeRequest, KeyHandshakeDraft = "KeyHandshakeRequest", example {} {
        /// Makes the URL reusable: every user who opens it is an event on the same stream, and the same token always has the
        /// same stream and URL. Anybody who knows the token can make the URL: choose it like a name on a poster, or at random
        /// if only those who see the code may use it.
        static_token: Nullable<VisibleAscii<128>>,
        /// Handshake only: tells the wallet that no authentication challenge follows.
        no_request: Nullable<Flag>,
        /// Where the page leads the user's browser at the end, with `stream_id` in the query. It must be under one of
        /// `pages.return_urls`. Not with `static_token`, whose page never ends.
        return_url: Nullable<WebUrl>,
    }
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

impl Handshakes {
    /// Starts a key handshake; the same static token again gives the same stream.
    pub async fn start(
        &self,
        requester: &Requester,
        request: KeyHandshakeRequest,
        once: Option<IdempotentRequest<KeyHandshakeStarted>>,
    ) -> Result<KeyHandshakeStarted, StartError> {
        let no_request = request.no_request;
        if let Some(token) = request.static_token {
            if request.return_url.is_some() {
                let detail = "is not possible with static_token: its page never ends";
                return Err(StartError::invalid("/return_url", detail));
            }
            let record = |stream_id, handshake: &KeyHandshake| {
                once.as_ref().map(|once| once.record(&self.started(stream_id, handshake), self.core.clock.now()))
            };
            let opened = self.open_static_token(requester, &token, &Wanted::Handshake { no_request }, record).await?;
            let started = self.started(opened.stream_id, &opened.handshake);
            return if opened.is_new { Ok(started) } else { self.starter.respond(once, started).await };
        }
        let expires_at = self.core.clock.now().plus(self.ttl);
        let stream_id = self.core.ids.stream_id();
        let return_url = self.pages.return_url(request.return_url.as_deref(), stream_id)?;
        let handshake = KeyHandshake::single_use(self.core.ids.token(), no_request.unwrap_or_default(), expires_at);
        let handshake = handshake.returning_to(return_url);
        let started = self.started(stream_id, &handshake);
        let record = once.map(|once| once.record(&started, self.core.clock.now()));
        let operation = Operation::KeyHandshake(handshake);
        self.starter.create_new(stream_id, requester.origin(), operation, Vec::new(), record).await?;
        Ok(started)
    }

    fn started(&self, stream_id: StreamId, handshake: &KeyHandshake) -> KeyHandshakeStarted {
        KeyHandshakeStarted {
            stream_id,
            url: self.urls.url(handshake.token(), handshake.no_request()),
            page_url: self.pages.page_url(KeyedPage::Handshake, stream_id),
        }
    }
}
