//! The ids of events that were seen, for all relays together.

use parking_lot::Mutex;
use usher_places::{LruCache, bounded};
use usher_protocol::EventId;

/// Remembers the ids of *verified* events, up to a limit.
///
/// An unverified id is only a claim: remembering a forged one would make us skip the real event. Events that outsiders
/// sign with their own keys are verified too; they have a separate list, so that a flood of them cannot push out the
/// ids of real messages.
#[derive(Debug)]
pub(crate) struct SeenEvents {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    good: LruCache<EventId, ()>,
    junk: LruCache<EventId, ()>,
}

impl SeenEvents {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { inner: Mutex::new(Inner { good: bounded(capacity / 2), junk: bounded(capacity / 2) }) }
    }

    pub(crate) fn contains(&self, id: &EventId) -> bool {
        let inner = self.inner.lock();
        inner.good.contains(id) || inner.junk.contains(id)
    }

    pub(crate) fn was_good(&self, id: &EventId) -> bool {
        self.inner.lock().good.contains(id)
    }

    /// Remembers a verified event; false if another relay's task was faster.
    pub(crate) fn insert(&self, id: EventId) -> bool {
        let mut inner = self.inner.lock();
        !inner.junk.contains(&id) && inner.good.put(id, ()).is_none()
    }

    /// Marks an event as useless.
    pub(crate) fn demote(&self, id: EventId) {
        let mut inner = self.inner.lock();
        inner.good.pop(&id);
        inner.junk.put(id, ());
    }

    pub(crate) fn forget(&self, id: EventId) {
        self.inner.lock().junk.pop(&id);
    }

    #[cfg(test)]
    pub(crate) fn is_junk(&self, id: &EventId) -> bool {
        self.inner.lock().junk.contains(id)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let inner = self.inner.lock();
        inner.good.len() + inner.junk.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> EventId {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        EventId::from_byte_array(bytes)
    }

    #[test]
    fn event_is_new_only_once_whatever_its_result() {
        let seen_events = SeenEvents::new(100);
        assert!(seen_events.insert(id(1)));
        assert!(!seen_events.insert(id(1)));
        seen_events.demote(id(1));
        assert!(!seen_events.insert(id(1)));
        assert!(seen_events.contains(&id(1)));
        assert!(!seen_events.contains(&id(2)));
    }

    #[test]
    fn memory_is_bounded_and_junk_displaces_no_useful_events() {
        let seen_events = SeenEvents::new(100);
        seen_events.insert(id(0));
        for number in 1..10_000 {
            assert!(seen_events.insert(id(number)));
            seen_events.demote(id(number));
        }
        assert!(seen_events.contains(&id(0)));
        for number in 10_000..20_000 {
            seen_events.insert(id(number));
        }
        assert_eq!(seen_events.len(), 100);
    }
}
