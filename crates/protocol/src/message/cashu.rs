//! Cashu tokens (docs/protocol.md, Kinds).

use serde::{Deserialize, Serialize};

use super::{Addressed, Sensitive};
use crate::{serde_helpers, text};

/// Longest address of a mint, in bytes.
pub const MAX_MINT_URL_BYTES: usize = 512;

/// Longest name of a unit, in bytes.
pub const MAX_UNIT_BYTES: usize = 64;

/// Kind 29500: asks the user for ecash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CashuRequest {
    /// Identifies the request in the reply.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
    /// The required mint.
    #[serde(deserialize_with = "serde_helpers::visible::<_, MAX_MINT_URL_BYTES>")]
    pub mint_url: String,
    /// The required unit.
    #[serde(deserialize_with = "serde_helpers::visible::<_, MAX_UNIT_BYTES>")]
    pub unit: String,
    /// The amount, in [`Self::unit`].
    pub amount: u64,
    /// Unix seconds until which a reply is valid.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
}

/// Kind 29501: the user's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CashuResponse {
    /// The request.
    pub request: Addressed<CashuRequest>,
    /// The decision.
    pub status: CashuStatus,
}

/// The decision of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CashuStatus {
    /// The user sent ecash.
    Success {
        /// The ecash, which is not verified.
        token: Sensitive,
    },
    /// The wallet does not have that much of this mint and unit.
    InsufficientFunds,
    /// The user refused.
    Rejected {
        /// The reason; at most [`text::MAX_REASON_CHARS`].
        #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
        reason: Option<String>,
    },
}

/// Kind 29502: ecash for the user. Not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CashuDirect {
    /// The ecash.
    pub token: Sensitive,
}
