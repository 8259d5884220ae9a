//! Low-priority events of one relay: our subkey proofs. Anybody can trigger them, so they must not delay other events.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use usher_protocol::EventId;

/// Most waiting events; the oldest is dropped first.
const MAX_EVENTS: usize = 64;

/// Most sent events remembered as low-priority.
const MAX_SENT: usize = 256;

/// Events sent only when nothing else waits for the relay, and not for a while after it limited our rate.
#[derive(Debug, Default)]
pub(crate) struct ProofQueue {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<(EventId, Utf8Bytes)>,
    sent: VecDeque<EventId>,
    refused_until: Option<Instant>,
}

impl ProofQueue {
    /// Adds an event; returns how many were dropped, possibly this one.
    pub(crate) fn push(&self, id: EventId, frame: Utf8Bytes) -> u64 {
        let mut inner = self.inner.lock();
        if inner.refused_until.is_some_and(|until| Instant::now() < until) {
            return 1;
        }
        inner.waiting.push_back((id, frame));
        let full = inner.waiting.len() > MAX_EVENTS;
        if full {
            inner.waiting.pop_front();
        }
        u64::from(full)
    }

    pub(crate) fn pop(&self) -> Option<Utf8Bytes> {
        let mut inner = self.inner.lock();
        let (id, frame) = inner.waiting.pop_front()?;
        if inner.sent.len() >= MAX_SENT {
            inner.sent.pop_front();
        }
        inner.sent.push_back(id);
        Some(frame)
    }

    /// Whether this is the first acknowledgement of a low-priority event.
    pub(crate) fn settle(&self, id: &EventId) -> bool {
        let mut inner = self.inner.lock();
        let place = inner.sent.iter().position(|sent| sent == id);
        place.and_then(|place| inner.sent.remove(place)).is_some()
    }

    /// Accepts no event until `until`, and drops the waiting ones; returns how many.
    pub(crate) fn refuse(&self, until: Instant) -> u64 {
        let mut inner = self.inner.lock();
        inner.refused_until = Some(until);
        std::mem::take(&mut inner.waiting).len() as u64
    }

    pub(crate) fn clear(&self) {
        self.inner.lock().waiting.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.inner.lock().waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.inner.lock().waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn id(number: u16) -> EventId {
        let mut bytes = [0; 32];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        EventId::from_byte_array(bytes)
    }

    #[test]
    fn queue_is_bounded_and_can_pause() {
        let queue = ProofQueue::default();
        let dropped: u64 = (0..100).map(|number| queue.push(id(number), "x".into())).sum();
        assert_eq!((dropped, queue.len()), (36, MAX_EVENTS));
        assert!(queue.pop().is_some());
        assert!(queue.settle(&id(36)) && !queue.settle(&id(36)) && !queue.settle(&id(37)));
        assert_eq!(queue.refuse(Instant::now() + Duration::from_secs(3600)), 63);
        assert_eq!((queue.push(id(1), "x".into()), queue.is_empty()), (1, true));
        queue.refuse(Instant::now());
        assert_eq!((queue.push(id(1), "x".into()), queue.len()), (0, 1));
        for number in 0..1000 {
            queue.push(id(number), "x".into());
            queue.pop();
        }
        assert_eq!(queue.inner.lock().sent.len(), MAX_SENT);
    }
}
