//! Reusable handshakes as the operator sees them: listed, and closed.

use std::collections::BTreeSet;
use std::ops::Bound;

use parking_lot::Mutex;

use super::Engine;
use super::committing::Change;
use super::steps::Cause;
use crate::StreamId;
use crate::operations::{KeyHandshake, Operation};
use crate::ports::{Conflict, OperationKind, Revision, StoreError};

/// The open ones: 16 bytes each, and as many as `limits.max_open_streams` at most.
#[derive(Default)]
pub(super) struct Reusable(Mutex<BTreeSet<StreamId>>);

/// An open reusable handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReusableHandshake {
    /// Its stream.
    pub stream_id: StreamId,
    /// The static token it was opened with.
    pub static_token: String,
    /// Its address.
    pub url: String,
    /// Whether its URL says that no authentication challenge follows.
    pub no_request: bool,
    /// When it was opened, in Unix seconds.
    pub created_at: u64,
    /// How many scans were accepted: the events of its stream, removed ones included.
    pub accepted: u64,
    /// How many scans wait now for a limit to have room.
    pub waiting: u64,
    /// How many scans its limits refused since the service started.
    pub refused: u64,
}

/// Some reusable handshakes, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakePage {
    /// The handshakes.
    pub handshakes: Vec<ReusableHandshake>,
    /// The `after` to ask with for more; `None` when there are no more.
    pub next: Option<StreamId>,
}

/// Why a handshake was not closed.
#[derive(Debug, thiserror::Error)]
pub enum CloseHandshakeError {
    /// The stream is none of a key handshake, or was removed after retention.
    #[error("no such key handshake")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Reusable {
    pub(super) fn add(&self, id: StreamId) {
        self.0.lock().insert(id);
    }

    fn remove(&self, id: StreamId) {
        self.0.lock().remove(&id);
    }

    /// Up to `limit` of them after this one.
    pub(super) fn after(&self, after: Option<StreamId>, limit: usize) -> Vec<StreamId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.0.lock().range((start, Bound::Unbounded)).take(limit).copied().collect()
    }
}

impl Engine {
    /// Up to `limit` open reusable handshakes, after the one that `after` names. A page may be short and have a next.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reusable_handshakes(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<HandshakePage, StoreError> {
        let ids = self.reusable.after(after, limit);
        let next = ids.last().copied().filter(|_| ids.len() == limit);
        let mut handshakes = Vec::with_capacity(ids.len());
        for stream_id in ids {
            let Some(stored) = self.store.operation(stream_id).await? else { continue };
            if stored.finished_at.is_some() {
                // Closed at the moment at which it was opened, or just now.
                self.reusable.remove(stream_id);
                continue;
            }
            let Ok(Operation::KeyHandshake(handshake)) = Operation::from_state(&stored.state) else {
                return Err(StoreError::Unreadable("a key handshake's state"));
            };
            handshakes.push(ReusableHandshake {
                stream_id,
                static_token: handshake.static_token().to_owned(),
                url: self.handshake_url(handshake.token(), handshake.no_request()),
                no_request: handshake.no_request(),
                created_at: stream_id.created_at().secs(),
                accepted: stored.next_index,
                waiting: self.scans.waiting(stream_id),
                refused: self.scans.refused(stream_id),
            });
        }
        Ok(HandshakePage { handshakes, next })
    }

    /// Closes a key handshake: its URL stops working at once, its stream is done. One that is over already stays as it is.
    ///
    /// # Errors
    /// [`CloseHandshakeError`].
    pub async fn close_key_handshake(&self, stream_id: StreamId) -> Result<(), CloseHandshakeError> {
        loop {
            let Some((revision, mut handshake)) = self.open_key_handshake(stream_id).await? else { return Ok(()) };
            let now = self.clock.now();
            let effects = handshake.close(now.plus(self.options.retention));
            let operation = Operation::KeyHandshake(handshake);
            let expected = Revision::At(revision);
            let change = Change { id: stream_id, operation, effects, expected, claims: Vec::new() };
            match self.commit(change, now, Cause::Call(None)).await? {
                None => break,
                // Somebody scanned it meanwhile, or closed it: look again.
                Some(Conflict::Revision) => {}
                Some(Conflict::Answered | Conflict::Correlation(_) | Conflict::InboundSeen) => {
                    return Err(StoreError::Unreadable("a key handshake's keys").into());
                }
            }
        }
        self.reusable.remove(stream_id);
        self.scans.forget(stream_id);
        // Whoever waits for its events is told that there will be none, though there is no event that says so.
        self.waiters.wake(stream_id);
        Ok(())
    }

    /// The handshake and its revision; `None` when it is over.
    async fn open_key_handshake(
        &self,
        stream_id: StreamId,
    ) -> Result<Option<(u64, KeyHandshake)>, CloseHandshakeError> {
        let stored = self.store.operation(stream_id).await?;
        let stored = stored.filter(|stored| stored.kind == OperationKind::KeyHandshake);
        let stored = stored.ok_or(CloseHandshakeError::NotFound)?;
        if stored.finished_at.is_some() {
            return Ok(None);
        }
        match Operation::from_state(&stored.state) {
            Ok(Operation::KeyHandshake(handshake)) => Ok(Some((stored.revision, handshake))),
            Ok(_) | Err(_) => Err(StoreError::Unreadable("a key handshake's state").into()),
        }
    }
}
