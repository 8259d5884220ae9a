//! Subkeys: keys of a user's (or the service's) devices, derived from a main key (docs/protocol.md, Subkeys).

mod derivation;
mod metadata;
mod permission;

use nostr::PublicKey;
use serde::{Deserialize, Serialize};

pub use derivation::{DeriveError, derive_public, derive_secret};
pub use metadata::{MAX_NAME_BYTES, Metadata, VERSION};
pub use permission::{Permission, Permissions};

use crate::serde_helpers;

/// The proof that a subkey belongs to a main key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubkeyProof {
    /// The main key.
    #[serde(with = "serde_helpers::public_key")]
    pub main_key: PublicKey,
    /// The metadata of the derivation.
    pub metadata: Metadata,
}

/// Why a proof is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The subkey is not derived from the main key with this metadata.
    #[error("the subkey is not derived from this main key")]
    NotDerived,
    /// `now` is outside `valid_from ≤ now < expires_at`.
    #[error("the proof is not valid at this time")]
    OutsideValidity,
    /// The proof lacks the permission that the message requires.
    #[error("the proof lacks the permission")]
    MissingPermission,
    /// The version of the metadata is unknown.
    #[error("the proof is of an unknown version")]
    UnknownVersion,
}

/// A text is not a proof. Contains the position, not the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a subkey proof (line {line}, column {column})")]
pub struct NotAProof {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl SubkeyProof {
    /// Parses a proof from its JSON text, as in `nostr.subkey_proof`.
    pub fn parse(json: &str) -> Result<Self, NotAProof> {
        serde_json::from_str(json).map_err(|e| NotAProof { line: e.line(), column: e.column() })
    }

    /// Checks that `subkey` is a subkey of [`Self::main_key`] with `permission` at `now` (Unix seconds). Cheap checks
    /// come first: the derivation costs about 30 µs.
    pub fn verify(&self, subkey: &PublicKey, permission: Permission, now: u64) -> Result<(), ProofError> {
        if self.metadata.version != VERSION {
            return Err(ProofError::UnknownVersion);
        }
        if now < self.metadata.valid_from || self.metadata.expires_at <= now {
            return Err(ProofError::OutsideValidity);
        }
        if !self.metadata.permissions.contains(permission) {
            return Err(ProofError::MissingPermission);
        }
        match derive_public(&self.main_key, &self.metadata) {
            Ok(derived) if derived == *subkey => Ok(()),
            _ => Err(ProofError::NotDerived),
        }
    }
}
