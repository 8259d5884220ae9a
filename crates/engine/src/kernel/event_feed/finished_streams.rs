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

pub(super) struct FinishedStreams(Mutex<Cache>);

struct Cache {
    streams: LruCache<StreamId, Arc<[Event]>>,
    cleared: u64,
}

impl Default for FinishedStreams {
    fn default() -> Self {
        Self(Mutex::new(Cache { streams: bounded(STREAMS), cleared: 0 }))
    }
}

impl FinishedStreams {
    pub(super) fn get(&self, stream: StreamId) -> Option<Arc<[Event]>> {
        self.0.lock().streams.get(&stream).cloned()
    }

    /// How often it was cleared: to be read before what is put into it.
    pub(super) fn cleared(&self) -> u64 {
        self.0.lock().cleared
    }

    /// Adds a stream, unless it may have been removed from the store since `cleared` was read.
    pub(super) fn put(&self, stream: StreamId, events: &[Event], cleared: u64) {
        let bytes: usize = events.iter().map(|event| event.data.len() + size_of::<Event>()).sum();
        let mut cache = self.0.lock();
        if bytes <= BYTES && cache.cleared == cleared {
            cache.streams.put(stream, events.into());
        }
    }

    pub(super) fn clear(&self) {
        let mut cache = self.0.lock();
        cache.streams.clear();
        cache.cleared += 1;
    }
}
