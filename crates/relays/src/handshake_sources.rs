//! Over which relays key handshakes came.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use usher_protocol::EventId;

/// HandshakeSources that are remembered: at most 8,192 × about 400 bytes. What is forgotten is known all the same, and handed on once more.
const HANDSHAKES: usize = 8192;

/// Relays of one of them: 16 of ours, and those of users, which are one.
const RELAYS: usize = 17;

/// The relays over which each handshake came last.
#[derive(Debug)]
pub(crate) struct HandshakeSources(Mutex<LruCache<EventId, Vec<Option<Arc<str>>>>>);

impl Default for HandshakeSources {
    fn default() -> Self {
        let mut cache = LruCache::unbounded();
        cache.resize(NonZeroUsize::new(HANDSHAKES).unwrap_or(NonZeroUsize::MIN));
        Self(Mutex::new(cache))
    }
}

impl HandshakeSources {
    /// Whether it came over this relay already.
    pub(crate) fn came(&self, id: &EventId, relay: Option<&Arc<str>>) -> bool {
        self.0.lock().peek(id).is_some_and(|relays| has(relays, relay) || relays.len() >= RELAYS)
    }

    /// It comes over this relay; false when it did before.
    pub(crate) fn comes(&self, id: EventId, relay: Option<&Arc<str>>) -> bool {
        let mut handshake_sources = self.0.lock();
        let relays = handshake_sources.get_or_insert_mut(id, Vec::new);
        let anew = !has(relays, relay) && relays.len() < RELAYS;
        if anew {
            relays.push(relay.cloned());
        }
        anew
    }
}

fn has(relays: &[Option<Arc<str>>], relay: Option<&Arc<str>>) -> bool {
    relays.iter().any(|known| known.as_ref() == relay)
}
