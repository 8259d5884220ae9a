//! What is open, in memory: rebuilt from the store at start, and the only thing that grows with open operations.
//!
//! It costs a few hundred bytes per open operation (docs/performance.md): an entry in each of two maps with their slack,
//! and one for each timer. The state stays in the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use crate::ports::{CorrelationKey, OpenOperation};
use crate::{StreamId, UnixMillis};

/// Open operations by stream id and by correlation key.
#[derive(Default)]
pub(super) struct Index {
    streams: RwLock<HashMap<StreamId, OpenStream>>,
    correlations: RwLock<HashMap<CorrelationKey, StreamId>>,
    /// How many of the streams are done.
    done: AtomicUsize,
}

/// What is kept of an open operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenStream {
    /// The revision of the operation from which this is, since this process started.
    pub(super) revision: u64,
    /// The index the next event will get.
    pub(super) next_index: u64,
    /// When it was committed last.
    pub(super) stepped_at: UnixMillis,
    /// When the operation wants to be woken.
    pub(super) wake_at: Option<UnixMillis>,
    /// When its messages are sent again; `None` when there are none.
    pub(super) resend_at: Option<UnixMillis>,
    /// How often they have been sent.
    pub(super) attempts: u8,
    /// Nothing more is expected of it, though money may still come.
    pub(super) done: bool,
}

impl Index {
    /// Takes in an operation that the store says is open.
    pub(super) fn load(&self, open: &OpenOperation, resend_at: Option<UnixMillis>) {
        let stream = OpenStream {
            revision: 0,
            next_index: open.next_index,
            stepped_at: open.at,
            wake_at: open.wake_at,
            resend_at,
            attempts: 0,
            done: open.done,
        };
        self.streams.write().insert(open.id, stream);
        self.done.fetch_add(usize::from(open.done), Ordering::Relaxed);
        let mut correlations = self.correlations.write();
        for key in &open.correlations {
            correlations.insert(*key, open.id);
        }
    }

    /// How many streams are open and not done.
    pub(super) fn len(&self) -> usize {
        self.streams.read().len().saturating_sub(self.done.load(Ordering::Relaxed))
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

    /// Changes what is kept of `id`, adding it when `is_new`; answers what was kept before and what is now, or `None`
    /// when it is not there (any more).
    pub(super) fn change(
        &self,
        id: StreamId,
        is_new: bool,
        change: impl FnOnce(&mut OpenStream),
    ) -> Option<(OpenStream, OpenStream)> {
        let mut streams = self.streams.write();
        let stream = if is_new { streams.entry(id).or_default() } else { streams.get_mut(&id)? };
        let before = *stream;
        change(stream);
        if stream.done && !before.done {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        Some((before, *stream))
    }

    /// Changes what is kept of `id`, if it is open, by `change`.
    pub(super) fn update(&self, id: StreamId, change: impl FnOnce(&mut OpenStream)) -> Option<OpenStream> {
        let mut streams = self.streams.write();
        let stream = streams.get_mut(&id)?;
        change(stream);
        Some(*stream)
    }

    /// The clock was set back by `by`: messages are sent again as soon as they would have been.
    pub(super) fn bring_resends_forward(&self, by: Duration) {
        for stream in self.streams.write().values_mut() {
            stream.resend_at = stream.resend_at.map(|at| at.minus(by));
        }
    }

    /// Operations whose last step is after `now`.
    pub(super) fn stepped_after(&self, now: UnixMillis) -> Vec<StreamId> {
        let streams = self.streams.read();
        streams.iter().filter(|(_, stream)| stream.stepped_at > now).map(|(id, _)| *id).collect()
    }

    /// Forgets a finished operation; answers what was kept of it.
    pub(super) fn remove(&self, id: StreamId, keys: &[CorrelationKey]) -> Option<OpenStream> {
        let mut correlations = self.correlations.write();
        for key in keys {
            if correlations.get(key) == Some(&id) {
                correlations.remove(key);
            }
        }
        drop(correlations);
        let removed = self.streams.write().remove(&id);
        if removed.is_some_and(|stream| stream.done) {
            self.done.fetch_sub(1, Ordering::Relaxed);
        }
        removed
    }
}
