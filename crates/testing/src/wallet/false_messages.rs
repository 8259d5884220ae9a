//! Messages with false claims.

use usher_protocol::message::{PaymentResponse, PaymentStatus, Preimage, WalletMessage};
use usher_sandbox::wallet::Request;

/// The claim that a payment was made, with any preimage. (28002; it names the request's id even when the request asked for
/// something else.)
#[must_use]
pub fn claim_paid(request: &Request, preimage: Option<Preimage>) -> WalletMessage {
    WalletMessage::PaymentConfirmation(PaymentResponse {
        request_id: request.id.clone(),
        status: PaymentStatus::Success { preimage },
    })
}
