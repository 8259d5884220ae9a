//! The messages, as they travel (wallet-protocol.md sections 3 to 6).

use nostr::EventId;
use serde::{Deserialize, Serialize};

use crate::subkey::SubkeyProof;

/// A message from a wallet to the service.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WalletMessage {
    /// Kind 27010.
    KeyHandshake(KeyHandshake),
    /// Kind 27001.
    AuthResponse(AuthResponse),
    /// Kind 30000: the author cannot read our event `about`, because it is a subkey of the event's recipient.
    SubkeyProof {
        /// The author's proof.
        proof: SubkeyProof,
        /// The event of ours that the author could not decrypt.
        about: EventId,
    },
}

/// Kind 27010: a user scanned the handshake URL; the event's author is the user's main key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHandshake {
    /// The token of the handshake URL.
    pub token: String,
    /// Where this user can be reached from now on.
    #[serde(default)]
    pub preferred_relays: Vec<String>,
}

/// Kind 27000: asks the user to prove who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthChallenge {
    /// 32 random alphanumerics.
    pub challenge: String,
}

/// Kind 27001: the user's answer to a challenge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthResponse {
    /// The challenge that is answered.
    pub challenge: String,
    /// The author's proof, when the author is a subkey.
    pub subkey_proof: Option<SubkeyProof>,
    /// The answer.
    pub status: AuthStatus,
}

/// What the user answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AuthStatus {
    /// The user approved.
    Approved {
        /// Permissions the wallet granted.
        #[serde(default)]
        granted_permissions: Vec<String>,
        /// May be a JWT that the wallet issued.
        #[serde(default)]
        session_token: Option<String>,
    },
    /// The user declined.
    Declined {
        /// Why, in the user's or wallet's words.
        #[serde(default)]
        reason: Option<String>,
    },
}
