//! Open reusable handshakes and reusable logins: listing and closing them.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::kernel::commit::{Modified, Stored};
use crate::kernel::core::Core;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::open_set::OpenSet;
use crate::kernel::request_errors::ModifyError;
use crate::kernel::starter::Starter;
use crate::login::handshake_urls::HandshakeUrls;
use crate::login::key_handshake::{KeyHandshake, LoginUrl};
use crate::login::open_child_logins::ChildLogins;
use crate::login::scan_limits::ScanLimits;
use crate::machine::{Input, Signal};
use crate::page_rules::PageRules;
use crate::ports::{OperationKind, StoreError};
use crate::registry::Operation;
use crate::{Page, Requester, StreamId};

/// Key handshakes.
pub struct Handshakes {
    pub(crate) core: Core,
    pub(crate) starter: Arc<Starter>,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) urls: Arc<HandshakeUrls>,
    pub(crate) pages: Arc<PageRules>,
    pub(crate) ttl: Duration,
    pub(crate) retention: Duration,
    pub(crate) open: Arc<OpenSet>,
    pub(crate) scans: Arc<ScanLimits>,
    pub(crate) logins: ChildLogins,
}

/// A reusable handshake or login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReusableHandshake {
    /// Where to read who completed it: `GET /events/{stream_id}`.
    #[schema(value_type = String, format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    pub stream_id: StreamId,
    /// The token it was opened with.
    #[schema(example = "table-7")]
    pub static_token: String,
    /// The URL that users scan. It names the service's current relays.
    #[schema(example = "nostr+walletconnect://npub1…?relays=wss%3A%2F%2Frelay.example&token=table-7")]
    pub url: String,
    /// Whether it tells wallets that no authentication challenge follows.
    #[schema(example = false)]
    pub no_request: bool,
    /// Whether it is a login (`POST /login`): users who scan it are challenged.
    #[serde(rename = "login")]
    #[schema(example = false)]
    pub is_login: bool,
    /// When it was opened, in Unix seconds.
    #[schema(example = 1732137600)]
    pub created_at: u64,
    /// How many scans of `url` were accepted. Of a handshake, these are the events of its stream.
    #[schema(example = 120)]
    pub accepted: u64,
    /// How many scans, and logins begun on a reusable login's page, its limits refused since the service started.
    #[schema(example = 0)]
    pub refused: u64,
}

/// Why a handshake was not closed.
#[derive(Debug, thiserror::Error)]
pub enum CloseHandshakeError {
    /// The stream is not that of a key handshake, or was removed after its retention.
    #[error("no such key handshake")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ModifyError for CloseHandshakeError {}

impl Handshakes {
    /// Up to `limit` open reusable handshakes, after `after`. A short page may have a successor.
    pub async fn list(
        &self,
        requester: &Requester,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Page<ReusableHandshake>, StoreError> {
        let ids = self.open.after(after, limit);
        let next = ids.last().copied().filter(|_| ids.len() == limit);
        let mut handshakes = Vec::with_capacity(ids.len());
        for stream_id in ids {
            let Some((stored, operation)) = self.core.readable(requester, stream_id).await? else { continue };
            if stored.finished_at.is_some() {
                continue;
            }
            let Operation::KeyHandshake(handshake) = operation else { continue };
            handshakes.push(ReusableHandshake {
                stream_id,
                static_token: handshake.static_token().to_owned(),
                url: self.urls.url(handshake.token(), handshake.no_request()),
                no_request: handshake.no_request(),
                is_login: handshake.login().is_some(),
                created_at: stream_id.created_at().secs(),
                accepted: handshake.login().map_or(stored.next_index, LoginUrl::scans),
                refused: self.scans.refused(stream_id),
            });
        }
        Ok(Page { items: handshakes, next })
    }

    /// Closes a key handshake, whose URL becomes invalid at once. Closing it again changes nothing.
    pub async fn close(&self, requester: &Requester, stream_id: StreamId) -> Result<(), CloseHandshakeError> {
        let closed = self.starter.committer.modify(
            Operation::KeyHandshake,
            || self.find(requester, stream_id),
            |handshake, now| {
                let effects = handshake.close(now.plus(self.retention));
                Ok(Modified::changed(effects, handshake.login().is_some()))
            },
        );
        let Some(is_login) = closed.await? else { return Ok(()) };
        self.scans.forget(stream_id);
        self.feed.end(stream_id);
        if is_login {
            self.end_logins(stream_id);
        }
        Ok(())
    }

    /// Ends the logins at a closed reusable login; their pages already show that they are over.
    fn end_logins(&self, stream_id: StreamId) {
        let (logins, inputs) = (self.logins.of(stream_id), self.core.inputs.clone());
        self.core.tasks.spawn(async move {
            for login in logins {
                inputs.put(login, Input::Signal(Signal::Close)).await;
            }
        });
    }

    async fn find(
        &self,
        requester: &Requester,
        stream_id: StreamId,
    ) -> Result<Option<Stored<KeyHandshake>>, CloseHandshakeError> {
        let stored = self.core.store.operation(requester, stream_id).await?;
        let stored = stored.filter(|stored| stored.kind == OperationKind::KeyHandshake);
        let stored = stored.ok_or(CloseHandshakeError::NotFound)?;
        if stored.finished_at.is_some() {
            return Ok(None);
        }
        match Operation::from_state(&stored.state) {
            Ok(Operation::KeyHandshake(handshake)) => Ok(Some((stream_id, stored.version(), handshake))),
            Ok(_) | Err(_) => Err(StoreError::Unreadable("a key handshake's state").into()),
        }
    }
}
