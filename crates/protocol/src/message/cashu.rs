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
    /// The mint the ecash must be of.
    #[serde(deserialize_with = "serde_helpers::visible::<_, MAX_MINT_URL_BYTES>")]
    pub mint_url: String,
    /// The unit it must be of.
    #[serde(deserialize_with = "serde_helpers::visible::<_, MAX_UNIT_BYTES>")]
    pub unit: String,
    /// How much, in [`Self::unit`].
    pub amount: u64,
    /// Unix seconds until which the request can be answered.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
}

/// Kind 29501: the user's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CashuResponse {
    /// The request that is answered.
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
        /// The ecash; to be checked before anybody relies on it.
        token: Sensitive,
    },
    /// The wallet has not got that much of this mint and unit.
    InsufficientFunds,
    /// The user refused.
    Rejected {
        /// Why; at most [`text::MAX_REASON_CHARS`].
        #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
        reason: Option<String>,
    },
}

/// Kind 29502: ecash for the user. Nobody acknowledges it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CashuDirect {
    /// The ecash.
    pub token: Sensitive,
}
