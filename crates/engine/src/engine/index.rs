//! What is open, in memory: rebuilt from the store at start, and the only thing that grows with open operations.
//!
//! It costs a few hundred bytes per open operation (docs/performance.md): an entry in each of two maps with their slack,
//! and one for each timer. The state stays in the store.

use std::collections::HashMap;

use parking_lot::RwLock;

use crate::ports::{CorrelationKey, OpenOperation};
use crate::{StreamId, UnixMillis};

/// Open operations by stream id and by correlation key.
#[derive(Default)]
pub(super) struct Index {
    streams: RwLock<HashMap<StreamId, OpenStream>>,
    correlations: RwLock<HashMap<CorrelationKey, StreamId>>,
}

/// What is kept of an open operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenStream {
    /// The index the next event will get.
    pub(super) next_index: u64,
    /// When the operation wants to be woken.
    pub(super) wake_at: Option<UnixMillis>,
    /// When its messages are sent again; `None` when there are none.
    pub(super) resend_at: Option<UnixMillis>,
    /// How often they have been sent.
    pub(super) attempts: u8,
}

impl Index {
    /// Takes in an operation that the store says is open.
    pub(super) fn load(&self, open: &OpenOperation, resend_at: Option<UnixMillis>) {
        let stream = OpenStream { next_index: open.next_index, wake_at: open.wake_at, resend_at, attempts: 0 };
        self.streams.write().insert(open.id, stream);
        let mut correlations = self.correlations.write();
        for key in &open.correlations {
            correlations.insert(*key, open.id);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.streams.read().len()
    }

    pub(super) fn get(&self, id: StreamId) -> Option<OpenStream> {
        self.streams.read().get(&id).copied()
    }

    pub(super) fn find(&self, key: CorrelationKey) -> Option<StreamId> {
        self.correlations.read().get(&key).copied()
    }

    pub(super) fn claim(&self, key: CorrelationKey, id: StreamId) {
        self.correlations.write().insert(key, id);
    }

    /// Changes what is kept of `id`, adding it when it is not there; answers what was kept before and what is now.
    pub(super) fn change(&self, id: StreamId, change: impl FnOnce(&mut OpenStream)) -> (OpenStream, OpenStream) {
        let mut streams = self.streams.write();
        let stream = streams.entry(id).or_default();
        let before = *stream;
        change(stream);
        (before, *stream)
    }

    /// Changes what is kept of `id`, if it is open, by `change`.
    pub(super) fn update(&self, id: StreamId, change: impl FnOnce(&mut OpenStream)) -> Option<OpenStream> {
        let mut streams = self.streams.write();
        let stream = streams.get_mut(&id)?;
        change(stream);
        Some(*stream)
    }

    /// Forgets a finished operation; answers what was kept of it.
    pub(super) fn remove(&self, id: StreamId, correlation: CorrelationKey) -> Option<OpenStream> {
        let mut correlations = self.correlations.write();
        if correlations.get(&correlation) == Some(&id) {
            correlations.remove(&correlation);
        }
        drop(correlations);
        self.streams.write().remove(&id)
    }
}
