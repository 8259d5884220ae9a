//! Requests with an idempotency key: of those with the same key, one runs, and the others wait in order of arrival.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use usher_engine::ports::IdempotencyKey;

/// The running and waiting requests with a key. Limited by the number of connections and WebSocket requests.
#[derive(Default)]
pub(crate) struct IdempotencyQueue(Mutex<HashMap<IdempotencyKey, Arc<tokio::sync::Mutex<()>>>>);

/// The turn of a request; dropping it starts the next one.
pub(crate) struct Turn {
    // Dropped in this order: the last request removes the queue.
    _turn: OwnedMutexGuard<()>,
    _entry: Entry,
}

struct Entry {
    calls: Arc<IdempotencyQueue>,
    key: IdempotencyKey,
    queue: Arc<tokio::sync::Mutex<()>>,
}

impl IdempotencyQueue {
    /// Waits for a turn. A dropped future leaves the queue.
    pub(crate) async fn turn(self: &Arc<Self>, key: IdempotencyKey) -> Turn {
        let queue = Arc::clone(self.0.lock().entry(key).or_default());
        let entry = Entry { calls: Arc::clone(self), key, queue };
        let turn = Arc::clone(&entry.queue).lock_owned().await;
        Turn { _turn: turn, _entry: entry }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut calls = self.calls.0.lock();
        // This reference and the one in the map: no other request waits.
        if Arc::strong_count(&self.queue) <= 2 {
            calls.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const KEY: IdempotencyKey = IdempotencyKey([7; 32]);

    #[tokio::test]
    async fn turns_are_given_one_at_a_time_in_order() {
        let calls = Arc::new(IdempotencyQueue::default());
        let first = calls.turn(KEY).await;
        let other = calls.turn(IdempotencyKey([8; 32])).await;
        let (mut second, mut third) = (Box::pin(calls.turn(KEY)), Box::pin(calls.turn(KEY)));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        assert!((&mut third).now_or_never().is_none(), "it is the second's turn");
        let second = second.await;
        assert!((&mut third).now_or_never().is_none());
        drop(second);
        drop(third.await);
        drop(other);
        assert_eq!(calls.0.lock().len(), 0);
    }

    #[tokio::test]
    async fn abandoned_turn_does_not_block_the_queue() {
        let calls = Arc::new(IdempotencyQueue::default());
        let first = calls.turn(KEY).await;
        let (mut leaves, mut stays) = (Box::pin(calls.turn(KEY)), Box::pin(calls.turn(KEY)));
        assert!((&mut leaves).now_or_never().is_none());
        assert!((&mut stays).now_or_never().is_none());
        drop(leaves);
        drop(first);
        drop(stays.await);
        assert_eq!(calls.0.lock().len(), 0);
    }
}
