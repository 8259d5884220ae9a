//! The answers a wallet knows.

use usher_protocol::message::{AuthResponse, AuthStatus, WalletMessage};
use usher_protocol::subkey::SubkeyProof;

use super::{Asked, Reaction, Request, WalletError};

/// The message that answers `request` so; `proof` is the device's.
pub(super) fn answer(
    request: &Request,
    reaction: &Reaction,
    proof: Option<&SubkeyProof>,
) -> Result<WalletMessage, WalletError> {
    match &request.asked {
        Asked::Authentication(challenge) => Ok(WalletMessage::AuthResponse(AuthResponse {
            challenge: challenge.challenge.clone(),
            subkey_proof: proof.cloned(),
            status: match reaction {
                Reaction::Approve => AuthStatus::Approved {
                    granted_permissions: challenge.required_permissions.clone(),
                    session_token: None,
                },
                Reaction::Decline(reason) => AuthStatus::Declined { reason: reason.clone() },
            },
        })),
        Asked::Other(message) => Err(WalletError::CannotAnswer(message.kind())),
    }
}
