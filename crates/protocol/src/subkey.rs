//! Subkeys: keys of a user's (or the service's) devices, derived from a main key (wallet-protocol.md sections 6 and 7).

use nostr::PublicKey;
use serde::{Deserialize, Serialize};

/// What a subkey may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Answer authentication challenges.
    Auth,
    /// Anything that moves value.
    Payment,
}

/// The proof that a subkey belongs to a main key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubkeyProof {
    /// The main key.
    pub main_key: PublicKey,
}

/// Why a proof does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The subkey is not derived from the main key by this metadata.
    #[error("the subkey is not derived from this main key")]
    NotDerived,
    /// `now` is outside `valid_from ≤ now < expires_at`.
    #[error("the proof is not valid at this time")]
    OutsideValidity,
    /// The proof lacks the permission the message needs.
    #[error("the proof lacks the permission")]
    MissingPermission,
}

impl SubkeyProof {
    /// Checks that `subkey` is a subkey of [`Self::main_key`] with `permission` at `now` (Unix seconds).
    ///
    /// # Errors
    /// [`ProofError`].
    pub fn verify(&self, subkey: &PublicKey, permission: Permission, now: u64) -> Result<(), ProofError> {
        let _ = (subkey, permission, now);
        Err(ProofError::NotDerived)
    }
}
