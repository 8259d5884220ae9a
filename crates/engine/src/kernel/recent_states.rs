//! States of operations that were committed a moment ago: the next step need not read what this process has just written.
//!
//! They are a guess. A step of an outdated one conflicts in the store, because its revision is another, and what an
//! outdated one ignores is tried again with what the store has.

use lru::LruCache;
use parking_lot::Mutex;
use usher_places::bounded;

use crate::StreamId;
use crate::operations::Operation;
use crate::ports::Version;

/// Most states: a few megabytes.
const STATES: usize = 2_048;

pub(crate) struct RecentStates(Mutex<LruCache<StreamId, (Version, Operation)>>);

impl RecentStates {
    /// The state and its version.
    pub(crate) fn take(&self, id: StreamId) -> Option<(Version, Operation)> {
        self.0.lock().pop(&id)
    }

    pub(crate) fn put(&self, id: StreamId, version: Version, operation: Operation) {
        // The oldest one is dropped after the lock is free.
        let _oldest = self.0.lock().push(id, (version, operation));
    }
}

impl Default for RecentStates {
    fn default() -> Self {
        Self(Mutex::new(bounded(STATES)))
    }
}
