//! The index of open operations, in memory and rebuilt from the store at the start: a few hundred bytes each
//! (docs/performance.md). The state stays in the store.

mod subscription_invitees;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use usher_protocol::PublicKey;

use self::subscription_invitees::Participants;
use super::timers::{Due, MonotonicMillis};
use crate::ports::{CorrelationKey, OpenOperation};
use crate::{StreamId, UnixMillis};

#[derive(Default)]
pub(crate) struct Index {
    streams: RwLock<HashMap<StreamId, OpenStream>>,
    correlations: RwLock<HashMap<CorrelationKey, StreamId>>,
    done: AtomicUsize,
    participants: Participants,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenStream {
    /// The revision of this entry's operation; 0 until this process commits it.
    pub(crate) revision: u64,
    pub(crate) next_index: u64,
    pub(crate) wake: Option<Wake>,
    pub(crate) resend_at: Option<MonotonicMillis>,
    pub(crate) attempts: u8,
    /// The `created_at` of the messages' current Nostr events, once the first ones were too old; 0 before.
    pub(crate) renewed_at: UnixMillis,
    /// It has ended, but money may arrive late.
    pub(crate) done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wake {
    /// In the operation's own time ([`Index::time_of`]).
    pub(crate) at: UnixMillis,
    pub(crate) due: Due,
}

impl Index {
    pub(crate) fn load(&self, open: &OpenOperation, wake: Option<Wake>, resend_at: Option<MonotonicMillis>) {
        let stream = OpenStream {
            revision: 0,
            // Unknown for a damaged row: its events are read from the store.
            next_index: if open.damaged { u64::MAX } else { open.next_index },
            wake,
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

    /// The number of streams in memory, including those that are done and wait for late money.
    pub(crate) fn all(&self) -> usize {
        self.streams.read().len()
    }

    /// The number of streams that are open and not done.
    pub(crate) fn len(&self) -> usize {
        self.streams.read().len().saturating_sub(self.done.load(Ordering::Relaxed))
    }

    pub(crate) fn get(&self, id: StreamId) -> Option<OpenStream> {
        self.streams.read().get(&id).copied()
    }

    pub(crate) fn find(&self, key: CorrelationKey) -> Option<StreamId> {
        self.correlations.read().get(&key).copied()
    }

    /// Call it from within [`change`](Self::change), so that it is ordered with other changes of the operation.
    pub(crate) fn claim(&self, key: CorrelationKey, id: StreamId) {
        self.correlations.write().insert(key, id);
    }

    pub(crate) fn set_participants(&self, id: StreamId, keys: Vec<PublicKey>) {
        self.participants.set(id, keys);
    }

    /// The operations for which [`set_participants`](Self::set_participants) was called with `key`.
    pub(crate) fn with_participant(&self, key: &PublicKey) -> Vec<StreamId> {
        self.participants.of(key)
    }

    /// Adds entries for new operations before they are committed, because others may find them once they are. They are
    /// removed unless [`Reserved::keep`] is called.
    pub(crate) fn reserve(&self, ids: Vec<StreamId>) -> Reserved<'_> {
        if !ids.is_empty() {
            self.streams.write().extend(ids.iter().map(|id| (*id, OpenStream::default())));
        }
        Reserved { index: self, ids }
    }

    /// Changes the entry of `id`; returns whether it exists. No other task reads or changes it while `change` runs.
    pub(crate) fn change(&self, id: StreamId, change: impl FnOnce(&mut OpenStream)) -> bool {
        let mut streams = self.streams.write();
        let Some(stream) = streams.get_mut(&id) else { return false };
        let was_done = stream.done;
        change(stream);
        if stream.done && !was_done {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    pub(crate) fn update(&self, id: StreamId, change: impl FnOnce(&mut OpenStream)) -> Option<OpenStream> {
        let mut streams = self.streams.write();
        let stream = streams.get_mut(&id)?;
        change(stream);
        Some(*stream)
    }

    /// The time for an operation to be woken at `wake_at`: the wall clock's, `wall`. If that was set back, the
    /// operation's time continues with its timer; otherwise it would be woken before its time.
    pub(crate) fn time_of(
        &self,
        id: StreamId,
        wake_at: Option<UnixMillis>,
        now: MonotonicMillis,
        wall: UnixMillis,
    ) -> UnixMillis {
        match (wake_at, self.get(id).and_then(|stream| stream.wake)) {
            (Some(wake_at), Some(Wake { at, due: Due::Monotonic(due) })) if at == wake_at => {
                wall.max(at.minus(due.since(now)))
            }
            _ => wall,
        }
    }

    pub(crate) fn remove(&self, id: StreamId, keys: &[CorrelationKey]) -> Option<OpenStream> {
        self.participants.remove(id);
        // The lock on the streams is held to the end, so that no key is claimed for a removed operation.
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

pub(crate) struct Reserved<'a> {
    index: &'a Index,
    ids: Vec<StreamId>,
}

impl Reserved<'_> {
    pub(crate) fn keep(mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixtures::{open_operation, stream};

    fn open(n: u8, done: bool) -> OpenOperation {
        let correlations = vec![CorrelationKey::request(&n.to_string())];
        OpenOperation { done, correlations, ..open_operation(stream(n)) }
    }

    #[test]
    fn done_operations_do_not_count_as_open() {
        let index = Index::default();
        let [first, second] = [open(1, false), open(2, true)];
        index.load(&first, None, None);
        index.load(&second, None, None);
        assert_eq!((index.all(), index.len()), (2, 1));
        assert!(index.change(first.id, |stream| stream.done = true));
        assert_eq!((index.all(), index.len()), (2, 0));
        index.remove(second.id, &second.correlations);
        assert_eq!((index.all(), index.len()), (1, 0));
        assert_eq!(index.find(second.correlations[0]), None);
        assert_eq!(index.find(first.correlations[0]), Some(first.id));
    }

    #[test]
    fn reservation_is_released_unless_kept() {
        let index = Index::default();
        let id = StreamId::from_parts(0, [1; 10]);
        drop(index.reserve(vec![id]));
        assert_eq!(index.get(id), None);
        index.reserve(vec![id]).keep();
        assert!(index.get(id).is_some());
    }

    #[test]
    fn key_claimed_by_another_operation_is_not_removed() {
        let index = Index::default();
        let [first, second] = [open(1, false), open(2, false)];
        index.load(&first, None, None);
        index.load(&second, None, None);
        let key = first.correlations[0];
        index.claim(key, second.id);
        index.remove(first.id, &first.correlations);
        assert_eq!(index.find(key), Some(second.id));
    }
}
