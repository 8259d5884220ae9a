//! Verifies events of relays and turns them into messages for the engine.
//!
//! Anybody can send events, so cheap checks come first: the head (kind, time, size, known id), the tag with our key,
//! the signature (30 µs), the decryption (3 µs, or 40 µs for an unknown author), the message.

use std::sync::Arc;

use nostr::{Event, EventId, PublicKey};
use serde_json::value::RawValue;
use usher_engine::ports::{Clock, Inbound, Via};
use usher_nostr_connection::EventHead;
use usher_protocol::envelope::{self, MAX_CONTENT_BYTES};
use usher_protocol::kind;
use usher_protocol::message::WalletMessage;

use crate::conversation_keys::ConversationKeys;
use crate::handshake_sources::HandshakeSources;
use crate::identity::Identity;
use crate::metrics::{Metrics, Refusal};
use crate::options::{CREATED_AT_TOLERANCE, RelayOptions};
use crate::seen_events::SeenEvents;

/// How many ids of handled events are remembered, so that an event from several relays is handled once: a minute at 500 per
/// second (about 3 MB). The engine deduplicates durably.
const REMEMBERED_EVENTS: usize = 32_768;

#[derive(Debug)]
pub(crate) enum Verdict {
    /// A message received for the first time, or a key handshake received over this relay for the first time.
    Message(Box<Inbound>),
    /// Received before, over any relay; or our own.
    Known,
    /// A genuine event for our main key that our subkey cannot read: its author does not know our subkey.
    SealedToMainKey { author: PublicKey, event: EventId },
    /// Useless to the engine.
    Refused(Refusal),
}

pub(crate) struct EventVerifier {
    own: PublicKey,
    own_hex: String,
    main: PublicKey,
    addressed_by: Vec<String>,
    clock: Arc<dyn Clock>,
    conversation_keys: Arc<ConversationKeys>,
    seen_events: SeenEvents,
    handshake_sources: HandshakeSources,
    metrics: Arc<Metrics>,
}

impl EventVerifier {
    pub(crate) fn new(
        options: &RelayOptions,
        clock: Arc<dyn Clock>,
        conversation_keys: Arc<ConversationKeys>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let identity: &Identity = &options.identity;
        Self {
            own: identity.own_key(),
            own_hex: identity.own_key().to_hex(),
            main: identity.main_key,
            addressed_by: identity.addressed_by().iter().map(PublicKey::to_hex).collect(),
            clock,
            conversation_keys,
            seen_events: SeenEvents::new(REMEMBERED_EVENTS),
            handshake_sources: HandshakeSources::default(),
            metrics,
        }
    }

    /// Verifies one event of our subscription at this relay (`None` for a user's).
    pub(crate) fn verify(&self, event: &RawValue, relay: Option<&Arc<str>>) -> Verdict {
        self.try_verify(event, relay).unwrap_or_else(|reason| {
            self.metrics.refuse(reason);
            Verdict::Refused(reason)
        })
    }

    /// Forgets an event that had no effect, so that it is verified again when another relay delivers it.
    pub(crate) fn forget(&self, event: EventId) {
        self.seen_events.forget(event);
    }

    fn try_verify(&self, event: &RawValue, relay: Option<&Arc<str>>) -> Result<Verdict, Refusal> {
        let head = EventHead::parse(event).ok_or(Refusal::Malformed)?;
        if head.pubkey.eq_ignore_ascii_case(&self.own_hex) {
            self.metrics.own.add(1);
            return Ok(Verdict::Known);
        }
        if !kind::FROM_WALLET.iter().any(|kind| u64::from(*kind) == head.kind) {
            return Err(Refusal::NotAsked);
        }
        // The raw text includes at least the two quotes.
        if head.content.get().len() > MAX_CONTENT_BYTES + 2 {
            return Err(Refusal::TooLong);
        }
        if self.clock.now().secs().abs_diff(head.created_at) > CREATED_AT_TOLERANCE.as_secs() {
            return Err(Refusal::OutOfTime);
        }
        let claimed = EventId::from_hex(&head.id).map_err(|_| Refusal::Malformed)?;
        // A handshake is passed to the engine once per relay, because the engine limits handshakes per relay. It is
        // verified again, because its id is only this relay's claim.
        let comes_anew = head.kind == u64::from(kind::KEY_HANDSHAKE)
            && self.seen_events.was_good(&claimed)
            && !self.handshake_sources.contains(&claimed, relay);
        if !comes_anew && self.seen_events.contains(&claimed) {
            self.metrics.duplicates.add(1);
            return Ok(Verdict::Known);
        }
        if !looks_like_nip44_v2(head.content.get()) {
            return Err(Refusal::Undecryptable);
        }
        let event: Event = serde_json::from_str(event.get()).map_err(|_| Refusal::Malformed)?;
        if !event.tags.iter().any(|tag| self.addresses_us(tag.as_slice())) {
            return Err(Refusal::NotAsked);
        }
        envelope::verify(&event).map_err(|_| Refusal::Forged)?;
        self.metrics.verified.add(1);
        // From here on the id is proven, and the first task to insert it handles the event.
        let copy = !self.seen_events.insert(event.id);
        let is_handshake = event.kind.as_u16() == kind::KEY_HANDSHAKE;
        if copy && !(is_handshake && self.seen_events.was_good(&event.id)) {
            self.metrics.duplicates.add(1);
            return Ok(Verdict::Known);
        }
        let verdict = self.open(&event, Via { relay: relay.cloned(), copy });
        // Events of outsiders must not push out events of users.
        if !matches!(verdict, Ok(Verdict::Message(_))) {
            self.seen_events.demote(event.id);
        } else if is_handshake && !self.handshake_sources.insert(event.id, relay) {
            self.metrics.duplicates.add(1);
            return Ok(Verdict::Known);
        }
        verdict
    }

    fn open(&self, event: &Event, via: Via) -> Result<Verdict, Refusal> {
        let conversation = self.conversation_keys.with(&event.pubkey).map_err(|_| Refusal::Undecryptable)?;
        let Ok(text) = envelope::open(&conversation, event) else {
            if self.knows_only_our_main_key(event) {
                self.metrics.refuse(Refusal::Undecryptable);
                return Ok(Verdict::SealedToMainKey { author: event.pubkey, event: event.id });
            }
            return Err(Refusal::Undecryptable);
        };
        let message = WalletMessage::from_event(event, &text).map_err(|_| Refusal::NotUnderstood)?;
        Ok(Verdict::Message(Box::new(Inbound {
            event_id: event.id,
            author: event.pubkey,
            created_at: event.created_at.as_secs(),
            message,
            via,
        })))
    }

    /// Whether the event was made for our main key while we run on a subkey. A proof gets no proof in return: two
    /// services would continue forever.
    fn knows_only_our_main_key(&self, event: &Event) -> bool {
        self.main != self.own
            && event.kind.as_u16() != kind::SUBKEY_PROOF
            && event.tags.iter().any(|tag| names(tag.as_slice(), &self.main.to_hex()))
    }

    fn addresses_us(&self, tag: &[String]) -> bool {
        self.addressed_by.iter().any(|key| names(tag, key))
    }
}

fn names(tag: &[String], key: &str) -> bool {
    matches!(tag, [name, value, ..] if name == "p" && value == key)
}

/// Whether a content (as JSON text) begins with the base64 of byte 2, the current version of NIP-44 payloads: the
/// first six bits are zero, the next two are `10`. Avoids verifying the signature of most events that are not for us.
fn looks_like_nip44_v2(content: &str) -> bool {
    matches!(content.as_bytes(), [b'"', b'A', b'g'..=b'v', ..])
}

#[cfg(test)]
mod tests;
