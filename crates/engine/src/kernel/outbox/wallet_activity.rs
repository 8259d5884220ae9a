//! When each wallet was last active. Only in memory: after a restart requests are repeated anyway.

use lru::LruCache;
use parking_lot::Mutex;
use usher_places::bounded;
use usher_protocol::PublicKey;

use crate::UnixMillis;

/// Keys remembered, about 100 bytes each. A flood of keys displaces others, whose requests are then repeated.
const KEYS: usize = 16_384;

pub(super) struct WalletActivity {
    last: Mutex<LruCache<PublicKey, UnixMillis>>,
}

impl WalletActivity {
    pub(super) fn new() -> Self {
        Self { last: Mutex::new(bounded(KEYS)) }
    }

    pub(super) fn record(&self, key: PublicKey, now: UnixMillis) {
        self.last.lock().put(key, now);
    }

    /// Whether a message of this key arrived after `at`. False for a time after `now`: the clock was set back.
    pub(super) fn was_active_between(&self, key: &PublicKey, at: UnixMillis, now: UnixMillis) -> bool {
        self.last.lock().peek(key).is_some_and(|heard| *heard > at && *heard <= now)
    }
}
