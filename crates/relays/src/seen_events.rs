//! The ids of events that were seen, for all relays together.

use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;
use usher_protocol::EventId;

/// Remembers the ids of *verified* events, a bounded number.
///
/// Only verified ones: an id in an event is a claim until it was checked, and a forger who could have an id remembered
/// could make us skip the real event. And two memories: what strangers write with keys of their own is verified too,
/// but a flood of it must not push out the ids of real messages.
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
        let half = NonZeroUsize::new(capacity / 2).unwrap_or(NonZeroUsize::MIN);
        // Not `LruCache::new`, which allocates for the whole capacity at once.
        let cache = || {
            let mut cache = LruCache::unbounded();
            cache.resize(half);
            cache
        };
        Self { inner: Mutex::new(Inner { good: cache(), junk: cache() }) }
    }

    /// Whether this event was handled before.
    pub(crate) fn contains(&self, id: &EventId) -> bool {
        let inner = self.inner.lock();
        inner.good.contains(id) || inner.junk.contains(id)
    }

    /// Whether this event was handled before, and was of use.
    pub(crate) fn was_good(&self, id: &EventId) -> bool {
        self.inner.lock().good.contains(id)
    }

    /// Remembers a verified event; false when it was remembered already: another relay's task was faster.
    pub(crate) fn insert(&self, id: EventId) -> bool {
        let mut inner = self.inner.lock();
        !inner.junk.contains(&id) && inner.good.put(id, ()).is_none()
    }

    /// The event turned out to be of no use.
    pub(crate) fn demote(&self, id: EventId) {
        let mut inner = self.inner.lock();
        inner.good.pop(&id);
        inner.junk.put(id, ());
    }

    /// Forgets an event that is of no use.
    pub(crate) fn forget(&self, id: EventId) {
        self.inner.lock().junk.pop(&id);
    }

    /// Whether it is remembered among what is of no use.
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
    fn each_once_however_it_ends() {
        let seen_events = SeenEvents::new(100);
        assert!(seen_events.insert(id(1)));
        assert!(!seen_events.insert(id(1)));
        seen_events.demote(id(1));
        assert!(!seen_events.insert(id(1)));
        assert!(seen_events.contains(&id(1)));
        assert!(!seen_events.contains(&id(2)));
    }

    #[test]
    fn bounded_and_junk_pushes_nothing_good_out() {
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
