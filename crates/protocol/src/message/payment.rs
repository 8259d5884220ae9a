//! Single payments (docs/protocol.md, Payments).

use serde::{Deserialize, Deserializer, Serialize};

use super::invoice::MAX_INVOICE_BYTES;
use super::{Currency, ExchangeRate, Preimage, Sensitive};
use crate::{serde_helpers, text};

/// Kind 28000: asks the user to pay an invoice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "payment_type", rename = "Single")]
pub struct PaymentRequest {
    /// How much, in [`Self::currency`].
    pub amount: u64,
    /// What [`Self::amount`] counts.
    pub currency: Currency,
    /// The rate by which the invoice was made; none for millisats.
    #[serde(default)]
    pub current_exchange_rate: Option<ExchangeRate>,
    /// The Lightning invoice to pay.
    #[serde(deserialize_with = "serde_helpers::visible::<_, MAX_INVOICE_BYTES>")]
    pub invoice: String,
    /// Lets the wallet pay without asking; not used by this service.
    #[serde(default)]
    pub auth_token: Option<Sensitive>,
    /// Unix seconds until which the request can be answered.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
    /// The subscription the payment belongs to.
    #[serde(default, deserialize_with = "serde_helpers::optional_id")]
    pub subscription_id: Option<String>,
    /// What the payment is for. Always a text on the wire, unlike the other requests' descriptions; `null` is read as
    /// an empty one.
    #[serde(default, deserialize_with = "description")]
    pub description: String,
    /// Identifies the request in the reply.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
}

/// Kinds 28001 and 28002: how it stands with a payment. Wallets repeat themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentResponse {
    /// The request.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
    /// How it stands.
    pub status: PaymentStatus,
}

/// How it stands with a payment, by the wallet's word alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentStatus {
    /// The user approved; the wallet is about to pay.
    Approved,
    /// The wallet paid.
    Success {
        /// Proof, when it hashes to the invoice's payment hash.
        #[serde(default)]
        preimage: Option<Preimage>,
    },
    /// The user refused.
    Rejected {
        /// Why; at most [`text::MAX_REASON_CHARS`].
        #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
        reason: Option<String>,
    },
    /// The wallet could not pay; it may try again.
    Failed {
        /// Why; at most [`text::MAX_REASON_CHARS`].
        #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
        reason: Option<String>,
    },
}

fn description<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(serde_helpers::optional_words::<D, { text::MAX_DESCRIPTION_CHARS }>(deserializer)?.unwrap_or_default())
}
