//! A cache of just committed states of operations, so that the next step need not read them.
//!
//! It may be outdated: a step of an outdated state conflicts in the store by its revision, and an input ignored by an
//! outdated state is retried with the stored one.

use lru::LruCache;
use parking_lot::Mutex;
use usher_places::bounded;

use crate::StreamId;
use crate::ports::Version;
use crate::registry::Operation;

/// Most states: a few megabytes.
const STATES: usize = 2_048;

pub(crate) struct RecentStates(Mutex<LruCache<StreamId, (Version, Operation)>>);

impl RecentStates {
    pub(crate) fn take(&self, id: StreamId) -> Option<(Version, Operation)> {
        self.0.lock().pop(&id)
    }

    pub(crate) fn put(&self, id: StreamId, version: Version, operation: Operation) {
        // The oldest one is dropped after the lock is released.
        let _oldest = self.0.lock().push(id, (version, operation));
    }
}

impl Default for RecentStates {
    fn default() -> Self {
        Self(Mutex::new(bounded(STATES)))
    }
}
