//! A cache of NIP-44 conversation keys. Deriving one costs an ECDH (about 35 µs, ten times a decryption).

use std::num::NonZeroUsize;

use lru::LruCache;
use nostr::nips::nip44::v2::ConversationKey;
use parking_lot::Mutex;
use usher_protocol::envelope::{self, EnvelopeError};
use usher_protocol::{Keys, PublicKey};

/// The conversation keys between our key and the keys used most recently.
pub(crate) struct ConversationKeys {
    keys: Keys,
    known: Mutex<LruCache<PublicKey, ConversationKey>>,
}

impl ConversationKeys {
    pub(crate) fn new(keys: Keys, capacity: usize) -> Self {
        let mut known = LruCache::unbounded(); // `new` would allocate the whole capacity at once
        known.resize(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN));
        Self { keys, known: Mutex::new(known) }
    }

    /// The key of the conversation with `other`.
    pub(crate) fn with(&self, other: &PublicKey) -> Result<ConversationKey, EnvelopeError> {
        if let Some(key) = self.known.lock().get(other) {
            return Ok(*key);
        }
        // Outside the lock: two tasks may derive the same key at the same time, which is harmless.
        let key = envelope::conversation_key(&self.keys, other)?;
        self.known.lock().put(*other, key);
        Ok(key)
    }
}
