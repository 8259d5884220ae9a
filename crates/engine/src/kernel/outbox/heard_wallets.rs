//! When each wallet was last heard. In memory only: after a restart a request is sent again anyway.

use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;
use usher_protocol::PublicKey;

use crate::UnixMillis;

/// Keys that are remembered: 16,384 × about 100 bytes. Anybody can send messages, so a flood of keys makes this forget
/// others; the only result is that requests to those are repeated as if they had not been heard.
const KEYS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(16_383);

/// The wallets heard most recently, by the key that signs their messages.
pub(super) struct HeardWallets {
    last: Mutex<LruCache<PublicKey, UnixMillis>>,
}

impl HeardWallets {
    pub(super) fn new() -> Self {
        Self { last: Mutex::new(LruCache::new(KEYS)) }
    }

    /// A message of this key has arrived.
    pub(super) fn heard(&self, key: PublicKey, now: UnixMillis) {
        self.last.lock().put(key, now);
    }

    /// Whether a message of this key has arrived after `at`. A time after `now` is of a clock that was set back since, and says
    /// nothing.
    pub(super) fn heard_between(&self, key: &PublicKey, at: UnixMillis, now: UnixMillis) -> bool {
        self.last.lock().peek(key).is_some_and(|heard| *heard > at && *heard <= now)
    }
}
