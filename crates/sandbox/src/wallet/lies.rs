//! Events as a liar makes them. Relays refuse most of them: inject them with
//! [`QuirkyRelay::inject`](crate::relay::QuirkyRelay::inject).

use nostr::secp256k1::schnorr::Signature;
use usher_protocol::message::{AuthResponse, PaymentResponse, PaymentStatus, Preimage, WalletMessage};
use usher_protocol::{Event, EventId, PublicKey};

use super::Request;

/// The event with its signature changed.
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

/// The same answer to another challenge; other messages stay as they are.
#[must_use]
pub fn with_challenge(challenge: &str, message: &WalletMessage) -> WalletMessage {
    match message {
        WalletMessage::AuthResponse(response) => {
            WalletMessage::AuthResponse(AuthResponse { challenge: challenge.to_owned(), ..response.clone() })
        }
        other => other.clone(),
    }
}

/// The word that a payment was made, whether it was or not, with any preimage. (28002; for another request than one to
/// pay, it names that request's id.)
#[must_use]
pub fn claim_paid(request: &Request, preimage: Option<Preimage>) -> WalletMessage {
    WalletMessage::PaymentConfirmation(PaymentResponse {
        request_id: request.id.clone(),
        status: PaymentStatus::Success { preimage },
    })
}
