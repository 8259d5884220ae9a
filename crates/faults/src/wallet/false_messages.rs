//! Messages with false claims.

use usher_protocol::message::{AuthResponse, PaymentResponse, PaymentStatus, Preimage, WalletMessage};
use usher_sandbox::wallet::Request;

/// The same response to another challenge; other messages stay as they are.
#[must_use]
pub fn with_challenge(challenge: &str, message: &WalletMessage) -> WalletMessage {
    match message {
        WalletMessage::AuthResponse(response) => {
            WalletMessage::AuthResponse(AuthResponse { challenge: challenge.to_owned(), ..response.clone() })
        }
        other => other.clone(),
    }
}

/// The claim that a payment was made, with any preimage. (28002; it names the request's id even when the request asked for
/// something else.)
#[must_use]
pub fn claim_paid(request: &Request, preimage: Option<Preimage>) -> WalletMessage {
    WalletMessage::PaymentConfirmation(PaymentResponse {
        request_id: request.id.clone(),
        status: PaymentStatus::Success { preimage },
    })
}
