//! Events waiting for one relay.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_protocol::EventId;

/// An event on its way to a relay.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    /// The event's id, by which the relay speaks of it.
    pub(crate) id: EventId,
    /// The whole `EVENT` message; copies for several relays share it.
    pub(crate) frame: Utf8Bytes,
    /// When it was made.
    pub(crate) made: Instant,
    /// How often it was handed to this relay.
    pub(crate) attempts: u8,
}

/// The queue of one relay: bounded in number, bytes and age, the oldest goes first. Filling it never waits.
#[derive(Debug)]
pub(crate) struct SendQueue {
    inner: Mutex<Inner>,
    filled: Notify,
    most_events: usize,
    most_bytes: usize,
    fresh_for: Duration,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Outgoing>,
    bytes: usize,
}

impl SendQueue {
    pub(crate) fn new(most_events: usize, most_bytes: usize, fresh_for: Duration) -> Self {
        Self { inner: Mutex::default(), filled: Notify::new(), most_events, most_bytes, fresh_for }
    }

    /// Adds an event; returns how many had to be dropped for it.
    pub(crate) fn push(&self, event: Outgoing) -> u64 {
        let dropped = {
            let mut inner = self.inner.lock();
            inner.bytes += event.frame.len();
            inner.waiting.push_back(event);
            let mut dropped = 0;
            while inner.waiting.len() > self.most_events || inner.bytes > self.most_bytes {
                if inner.pop().is_none() {
                    break;
                }
                dropped += 1;
            }
            dropped
        };
        self.filled.notify_one();
        dropped
    }

    /// Puts events back in front, in their order, as far as there is room; returns how many had to be dropped.
    pub(crate) fn put_back(&self, events: Vec<Outgoing>) -> u64 {
        let mut dropped = 0;
        {
            let mut inner = self.inner.lock();
            for event in events.into_iter().rev() {
                if inner.waiting.len() >= self.most_events || inner.bytes + event.frame.len() > self.most_bytes {
                    dropped += 1;
                } else {
                    inner.bytes += event.frame.len();
                    inner.waiting.push_front(event);
                }
            }
        }
        self.filled.notify_one();
        dropped
    }

    /// Takes the oldest event that is still fresh; the number says how many were too old and are dropped.
    pub(crate) fn pop(&self, now: Instant) -> (Option<Outgoing>, u64) {
        let mut inner = self.inner.lock();
        let mut dropped = 0;
        loop {
            match inner.pop() {
                Some(event) if now.saturating_duration_since(event.made) > self.fresh_for => dropped += 1,
                other => return (other, dropped),
            }
        }
    }

    /// Drops what is too old, when nobody takes from the queue; returns how many.
    pub(crate) fn drop_stale(&self, now: Instant) -> u64 {
        let mut inner = self.inner.lock();
        let mut dropped = 0;
        while inner.waiting.front().is_some_and(|event| now.saturating_duration_since(event.made) > self.fresh_for) {
            inner.pop();
            dropped += 1;
        }
        dropped
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        *self.inner.lock() = Inner::default();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.inner.lock().waiting.is_empty()
    }

    /// How many events wait.
    pub(crate) fn len(&self) -> usize {
        self.inner.lock().waiting.len()
    }

    /// Lets whoever waits look, though nothing was added here.
    pub(crate) fn wake(&self) {
        self.filled.notify_one();
    }

    /// Returns when something may have been added since the last return.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }
}

impl Inner {
    fn pop(&mut self) -> Option<Outgoing> {
        let event = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(event.frame.len());
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u8, bytes: usize, made: Instant) -> Outgoing {
        Outgoing { id: EventId::from_byte_array([number; 32]), frame: "x".repeat(bytes).into(), made, attempts: 0 }
    }

    fn numbers(queue: &SendQueue, now: Instant) -> Vec<u8> {
        std::iter::from_fn(|| queue.pop(now).0).map(|event| event.id.as_bytes()[0]).collect()
    }

    #[test]
    fn a_full_queue_drops_the_oldest() {
        let now = Instant::now();
        let queue = SendQueue::new(3, 1000, Duration::from_secs(60));
        let dropped: u64 = (0..5).map(|number| queue.push(event(number, 10, now))).sum();
        assert_eq!(dropped, 2);
        assert_eq!(numbers(&queue, now), [2, 3, 4]);
        assert!(queue.is_empty());
    }

    #[test]
    fn bytes_are_bounded_too() {
        let now = Instant::now();
        let queue = SendQueue::new(100, 1000, Duration::from_secs(60));
        assert_eq!(queue.push(event(0, 600, now)), 0);
        assert_eq!(queue.push(event(1, 600, now)), 1);
        assert_eq!(queue.push(event(2, 5000, now)), 2, "one that is larger than the queue is not kept either");
        assert!(queue.is_empty());
        assert_eq!(queue.push(event(3, 1000, now)), 0, "the count of bytes went back to nothing");
    }

    #[test]
    fn old_events_are_dropped() {
        let start = Instant::now();
        let queue = SendQueue::new(100, 1000, Duration::from_secs(60));
        queue.push(event(0, 10, start));
        queue.push(event(1, 10, start + Duration::from_secs(30)));
        let (taken, dropped) = queue.pop(start + Duration::from_secs(61));
        assert_eq!((taken.unwrap().id.as_bytes()[0], dropped), (1, 1));
        queue.push(event(2, 10, start));
        assert_eq!(queue.drop_stale(start + Duration::from_secs(61)), 1);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn what_is_put_back_comes_first_and_in_order() {
        let now = Instant::now();
        let queue = SendQueue::new(4, 1000, Duration::from_secs(60));
        queue.push(event(8, 10, now));
        queue.push(event(9, 10, now));
        let dropped = queue.put_back((0..3).map(|number| event(number, 10, now)).collect());
        assert_eq!(dropped, 1, "the oldest of those put back has no room");
        assert_eq!(numbers(&queue, now), [1, 2, 8, 9]);
    }
}
