use std::num::NonZeroUsize;

use lru::LruCache;
use nostr::nips::nip44::v2::ConversationKey;
use parking_lot::Mutex;
use usher_protocol::envelope;
use usher_protocol::message::WalletMessage;
use usher_protocol::{Event, EventId, Keys, PublicKey, kind};

use super::WalletError;
use crate::clock::SharedClock;

/// Sent events that are remembered, to encrypt them again when the recipient turns out to use a subkey.
const SENT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(999);

/// Cached conversation keys: deriving one takes 35 µs.
const CONVERSATIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(999);

#[derive(Clone, Debug)]
pub(super) struct OutgoingMessage {
    pub(super) message: WalletMessage,
    pub(super) text: String,
}

impl From<WalletMessage> for OutgoingMessage {
    fn from(message: WalletMessage) -> Self {
        Self { text: message.to_json(), message }
    }
}

#[derive(Clone, Debug)]
pub(super) struct SentMessage {
    pub(super) event: Event,
    pub(super) to: PublicKey,
    pub(super) outgoing: OutgoingMessage,
}

#[derive(Debug)]
pub(super) struct Messages {
    keys: Keys,
    clock: SharedClock,
    said: Mutex<LruCache<EventId, SentMessage>>,
    conversations: Mutex<Conversations>,
    /// `created_at` of the last subkey proof.
    last_proof: Mutex<u64>,
}

struct Conversations(LruCache<PublicKey, ConversationKey>);

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} conversations", self.0.len())
    }
}

impl Messages {
    pub(super) fn new(keys: Keys, clock: SharedClock) -> Self {
        Self {
            keys,
            clock,
            said: Mutex::new(LruCache::new(SENT)),
            conversations: Mutex::new(Conversations(LruCache::new(CONVERSATIONS))),
            last_proof: Mutex::new(0),
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }

    pub(super) fn seal(
        &self,
        to: PublicKey,
        participants: &[PublicKey],
        outgoing: &OutgoingMessage,
    ) -> Result<Event, WalletError> {
        let message = &outgoing.message;
        let at = if message.kind() == kind::SUBKEY_PROOF { self.next_proof_time() } else { self.now() };
        let conversation = self.conversation(&to)?;
        let (about, kind) = (message.about(), message.kind());
        let event = envelope::seal(&self.keys, &conversation, participants, about, kind, &outgoing.text, at)?;
        let said = SentMessage { event: event.clone(), to, outgoing: outgoing.clone() };
        self.said.lock().push(event.id, said);
        Ok(event)
    }

    pub(super) fn open(&self, event: &Event) -> Result<String, WalletError> {
        Ok(envelope::open(&self.conversation(&event.pubkey)?, event)?)
    }

    pub(super) fn find(&self, id: &EventId) -> Option<SentMessage> {
        self.said.lock().peek(id).cloned()
    }

    pub(super) fn sent_events(&self) -> Vec<Event> {
        self.said.lock().iter().rev().map(|(_, said)| said.event.clone()).collect()
    }

    fn conversation(&self, with: &PublicKey) -> Result<ConversationKey, WalletError> {
        if let Some(key) = self.conversations.lock().0.get(with) {
            return Ok(*key);
        }
        let key = envelope::conversation_key(&self.keys, with)?;
        self.conversations.lock().0.push(*with, key);
        Ok(key)
    }

    /// Relays keep one event of kind 30000 per author, and forward a newer one only: no two proofs have the same
    /// second.
    fn next_proof_time(&self) -> u64 {
        let mut last = self.last_proof.lock();
        *last = self.now().max(last.saturating_add(1));
        *last
    }
}
