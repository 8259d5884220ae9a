//! Values that are money, prove a payment or grant access; hidden in `Debug`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};

use super::MAX_JSON_BYTES;
use crate::serde_helpers;

/// Replaces a value in `Debug`.
pub(super) struct Hidden;

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// A text that must not be logged: ecash or an authentication token. Parsed values are visible ASCII.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Sensitive(String);

impl Sensitive {
    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text.
    pub fn into_inner(self) -> String {
        self.0
    }
}

impl From<String> for Sensitive {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hidden.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Sensitive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_helpers::visible::<D, MAX_JSON_BYTES>(deserializer).map(Self)
    }
}

/// The preimage of a payment hash: after the payment, only the payer and the payee know it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Preimage(#[serde(with = "serde_helpers::hex32")] [u8; 32]);

impl Preimage {
    /// The preimage with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its bytes as 64 hexadecimal characters in lower case.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// The payment hash that it proves.
    pub fn payment_hash(&self) -> PaymentHash {
        PaymentHash(Sha256::digest(self.0).into())
    }
}

crate::debug_shows!(Preimage(..));

/// Identifies a Lightning payment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PaymentHash(#[serde(with = "serde_helpers::hex32")] [u8; 32]);

impl PaymentHash {
    /// The payment hash with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for PaymentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for PaymentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PaymentHash({self})")
    }
}
