//! Recently finished streams, cached because their apps are about to read them.

use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use usher_places::bounded;

use crate::StreamId;
use crate::event::Event;

const STREAMS: usize = 4_096;

/// Largest cached stream, in bytes of its events: 4,096 of them are at most 16 MiB.
const BYTES: usize = 4096;

pub(super) struct FinishedStreams(Mutex<LruCache<StreamId, Arc<[Event]>>>);

impl Default for FinishedStreams {
    fn default() -> Self {
        Self(Mutex::new(bounded(STREAMS)))
    }
}

impl FinishedStreams {
    pub(super) fn get(&self, stream: StreamId) -> Option<Arc<[Event]>> {
        self.0.lock().get(&stream).cloned()
    }

    pub(super) fn put(&self, stream: StreamId, events: &[Event]) {
        let bytes: usize = events.iter().map(|event| event.data.len() + size_of::<Event>()).sum();
        if bytes <= BYTES {
            self.0.lock().put(stream, events.into());
        }
    }

    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}
