use std::time::Duration;

use super::Handshakes;
use crate::page_rules::KeyedPage;
use crate::ports::StoreError;
use crate::registry::Operation;
use crate::{EventType, Requester, ShownStream, StreamId};

/// A key handshake as its page shows it.
#[derive(Clone)]
pub struct HandshakeView {
    /// Its state.
    pub state: HandshakeState,
    /// Its URL.
    pub url: String,
    /// The same for wallets that open other schemes.
    pub other_urls: Vec<String>,
    /// Where the page redirects at the end.
    pub return_url: Option<String>,
    /// The remaining time; `None` if it is reusable.
    pub time_left: Option<Duration>,
}

usher_protocol::words! {
    /// The state of a key handshake.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HandshakeState {
        /// Waiting for a wallet.
        Waiting = "waiting",
        /// Completed by a wallet.
        Completed = "completed",
        /// Expired or closed.
        Ended = "over",
    }
}

impl Handshakes {
    /// A key handshake for its page; `None` if it does not exist or the secret is wrong.
    pub async fn page(&self, id: StreamId, secret: &str) -> Result<Option<HandshakeView>, StoreError> {
        if !self.pages.is_secret(KeyedPage::Handshake, id, secret) {
            return Ok(None);
        }
        let Some((stored, Operation::KeyHandshake(handshake))) = self.core.readable(&Requester::Service, id).await?
        else {
            return Ok(None);
        };
        let state = if stored.finished_at.is_none() {
            HandshakeState::Waiting
        } else {
            let page = self.feed.read(ShownStream::to_service(id), 0, 1).await;
            let events = page.map(|page| page.events).unwrap_or_default();
            let is_completed = events.iter().any(|event| event.event_type == EventType::KeyHandshake);
            if is_completed && !handshake.is_reusable() { HandshakeState::Completed } else { HandshakeState::Ended }
        };
        let now = self.core.clock.now();
        Ok(Some(HandshakeView {
            state,
            url: self.urls.url(handshake.token(), handshake.no_request()),
            other_urls: self.urls.others(handshake.token(), handshake.no_request()),
            return_url: handshake.return_url().map(str::to_owned),
            time_left: handshake.expires_at().map(|at| at.since(now)),
        }))
    }
}
