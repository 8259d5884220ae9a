//! Forged events. Relays refuse most of them: inject them with
//! [`QuirkyRelay::inject`](crate::relay::QuirkyRelay::inject).

use nostr::secp256k1::schnorr::Signature;
use usher_protocol::{Event, EventId, PublicKey};

#[must_use]
pub fn with_forged_signature(event: &Event) -> Event {
    let mut forged = event.clone();
    let mut bytes = *event.sig.as_ref();
    bytes[63] ^= 1;
    if let Ok(signature) = Signature::from_slice(&bytes) {
        forged.sig = signature;
    }
    forged
}

/// The event under an id that is not its own.
#[must_use]
pub fn with_wrong_id(event: &Event) -> Event {
    let mut forged = event.clone();
    let mut bytes = event.id.to_bytes();
    bytes[31] ^= 1;
    forged.id = EventId::from_byte_array(bytes);
    forged
}

/// The event as if `author` had made it; id and signature stay as they are.
#[must_use]
pub fn in_the_name_of(author: PublicKey, event: &Event) -> Event {
    let mut forged = event.clone();
    forged.pubkey = author;
    forged
}
