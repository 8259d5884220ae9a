//! What a subkey is derived by.

use serde::{Deserialize, Serialize};

use super::permission::Permissions;
use crate::serde_helpers;

/// The only version of [`Metadata`].
pub const VERSION: u8 = 2;

/// Longest [`Metadata::name`], in bytes; the two-byte length of the wire format would allow 65,535.
pub const MAX_NAME_BYTES: usize = 1024;

/// The input of a subkey's derivation. It covers every field, so no field can be changed afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The device's name, chosen by its owner; [clean](crate::text::clean) it before display.
    #[serde(deserialize_with = "serde_helpers::at_most::<_, MAX_NAME_BYTES>")]
    pub name: String,
    /// Random bytes that make the subkey unique.
    #[serde(with = "serde_helpers::hex32")]
    pub nonce: [u8; 32],
    /// Unix seconds from which the proof is valid.
    #[serde(with = "serde_helpers::timestamp")]
    pub valid_from: u64,
    /// Unix seconds from which the proof is no longer valid.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
    /// What the subkey may do.
    pub permissions: Permissions,
    /// [`VERSION`].
    pub version: u8,
}
