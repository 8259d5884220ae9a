//! A cache of NIP-44 conversation keys. Deriving one costs an ECDH (about 35 µs, ten times a decryption).

use nostr::nips::nip44::v2::ConversationKey;
use parking_lot::Mutex;
use usher_places::{LruCache, bounded};
use usher_protocol::envelope::{self, EnvelopeError};
use usher_protocol::{Keys, PublicKey};

/// The conversation keys between our key and the keys used most recently.
pub(crate) struct ConversationKeys {
    keys: Keys,
    known: Mutex<LruCache<PublicKey, ConversationKey>>,
}

impl ConversationKeys {
    pub(crate) fn new(keys: Keys, capacity: usize) -> Self {
        Self { keys, known: Mutex::new(bounded(capacity)) }
    }

    pub(crate) fn with(&self, other: &PublicKey) -> Result<ConversationKey, EnvelopeError> {
        if let Some(key) = self.known.lock().get(other) {
            return Ok(*key);
        }
        // Outside the lock: two tasks deriving the same key at once do no harm.
        let key = envelope::conversation_key(&self.keys, other)?;
        self.known.lock().put(*other, key);
        Ok(key)
    }
}
