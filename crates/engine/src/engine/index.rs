//! What is open, in memory: rebuilt from the store at start, and the only thing that grows with open operations.
//!
//! It costs a few hundred bytes per open operation (docs/performance.md): an entry in each of two maps with their slack,
//! and one for each timer. The state stays in the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use super::parties::Parties;
use crate::ports::{CorrelationKey, OpenOperation};
use crate::{StreamId, UnixMillis};

/// Open operations by stream id and by correlation key.
#[derive(Default)]
pub(super) struct Index {
    streams: RwLock<HashMap<StreamId, OpenStream>>,
    correlations: RwLock<HashMap<CorrelationKey, StreamId>>,
    /// How many of the streams are done.
    done: AtomicUsize,
    /// Whose words are waited for, where the id they will name is not known yet.
    pub(super) parties: Parties,
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
    /// When the events were made by which they are sent, once those of the beginning are too old; 0 before that.
    pub(super) renewed_at: UnixMillis,
    /// Nothing more is expected of it, though money may still come.
    pub(super) done: bool,
}

impl Index {
    /// Takes in an operation that the store says is open.
    pub(super) fn load(&self, open: &OpenOperation, resend_at: Option<UnixMillis>) {
        let stream = OpenStream {
            revision: 0,
            // Of a damaged row it is not sure: the events are asked of the store.
            next_index: if open.damaged { u64::MAX } else { open.next_index },
            stepped_at: open.at,
            wake_at: open.wake_at,
            resend_at,
            attempts: 0,
            renewed_at: UnixMillis(0),
            done: open.done,
        };
        self.streams.write().insert(open.id, stream);
        self.done.fetch_add(usize::from(open.done), Ordering::Relaxed);
        let mut correlations = self.correlations.write();
        for key in &open.correlations {
            correlations.insert(*key, open.id);
        }
    }

    /// How many streams are kept in memory, those that are done and wait for late money among them.
    pub(super) fn all(&self) -> usize {
        self.streams.read().len()
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

    /// Call it while the operation is [changed](Self::change).
    pub(super) fn claim(&self, key: CorrelationKey, id: StreamId) {
        self.correlations.write().insert(key, id);
    }

    /// Makes a place for new operations, before they are committed: from then on others may find them in the store. The
    /// places are given up again unless the commit is known to have been made.
    pub(super) fn reserve(&self, ids: Vec<StreamId>) -> Reserved<'_> {
        if !ids.is_empty() {
            self.streams.write().extend(ids.iter().map(|id| (*id, OpenStream::default())));
        }
        Reserved { index: self, ids }
    }

    /// Changes what is kept of `id`; says whether it is there. Nobody else sees or changes it while `change` runs.
    pub(super) fn change(&self, id: StreamId, change: impl FnOnce(&mut OpenStream)) -> bool {
        let mut streams = self.streams.write();
        let Some(stream) = streams.get_mut(&id) else { return false };
        let was_done = stream.done;
        change(stream);
        if stream.done && !was_done {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        true
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

    /// Every operation.
    pub(super) fn ids(&self) -> Vec<StreamId> {
        self.streams.read().keys().copied().collect()
    }

    /// Operations whose last step is after `now`.
    pub(super) fn stepped_after(&self, now: UnixMillis) -> Vec<StreamId> {
        let streams = self.streams.read();
        streams.iter().filter(|(_, stream)| stream.stepped_at > now).map(|(id, _)| *id).collect()
    }

    /// Forgets a finished operation; answers what was kept of it.
    pub(super) fn remove(&self, id: StreamId, keys: &[CorrelationKey]) -> Option<OpenStream> {
        self.parties.remove(id);
        // The streams are locked first and longest: nobody claims a key for an operation that is gone.
        let mut streams = self.streams.write();
        let removed = streams.remove(&id);
        if removed.is_some_and(|stream| stream.done) {
            self.done.fetch_sub(1, Ordering::Relaxed);
        }
        let mut correlations = self.correlations.write();
        for key in keys {
            if correlations.get(key) == Some(&id) {
                correlations.remove(key);
            }
        }
        removed
    }
}

/// Places in the index for operations that are being committed.
pub(super) struct Reserved<'a> {
    index: &'a Index,
    ids: Vec<StreamId>,
}

impl Reserved<'_> {
    /// They have been committed.
    pub(super) fn keep(mut self) {
        self.ids.clear();
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if !self.ids.is_empty() {
            let mut streams = self.index.streams.write();
            for id in &self.ids {
                streams.remove(id);
            }
        }
    }
}
