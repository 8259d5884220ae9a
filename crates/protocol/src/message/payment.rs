//! Single payments (docs/protocol.md, Payments).

use serde::{Deserialize, Deserializer, Serialize};

use super::invoice::MAX_INVOICE_BYTES;
use super::{Currency, ExchangeRate, Preimage, Sensitive};
use crate::{serde_helpers, text};

/// Kind 28000: asks the user to pay an invoice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "payment_type", rename = "Single")]
pub struct PaymentRequest {
    /// The amount, in [`Self::currency`].
    pub amount: u64,
    /// The unit of [`Self::amount`].
    pub currency: Currency,
    /// The exchange rate used for the invoice; none for millisats.
    #[serde(default)]
    pub current_exchange_rate: Option<ExchangeRate>,
    /// The Lightning invoice to pay.
    #[serde(deserialize_with = "serde_helpers::visible::<_, MAX_INVOICE_BYTES>")]
    pub invoice: String,
    /// Lets the wallet pay without asking; not used by this service.
    #[serde(default)]
    pub auth_token: Option<Sensitive>,
    /// Unix seconds until which a reply is valid.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
    /// The subscription the payment belongs to.
    #[serde(default, deserialize_with = "serde_helpers::optional_id")]
    pub subscription_id: Option<String>,
    /// What the payment is for. Always a string on the wire, unlike the descriptions of other requests; `null` is read
    /// as empty.
    #[serde(default, deserialize_with = "description")]
    pub description: String,
    /// Identifies the request in the reply.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
}

/// Kinds 28001 and 28002: the status of a payment. Wallets repeat these messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentResponse {
    /// The request.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
    /// The status.
    pub status: PaymentStatus,
}

/// The status of a payment, as claimed by the wallet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentStatus {
    /// The user approved; the wallet is about to pay.
    Approved,
    /// The wallet paid.
    Success {
        /// Proof, if it hashes to the invoice's payment hash.
        #[serde(default)]
        preimage: Option<Preimage>,
    },
    /// The user refused.
    Rejected {
        /// The reason; at most [`text::MAX_REASON_CHARS`].
        #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
        reason: Option<String>,
    },
    /// The wallet could not pay; it may try again.
    Failed {
        /// The reason; at most [`text::MAX_REASON_CHARS`].
        #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_REASON_CHARS }>")]
        reason: Option<String>,
    },
}

fn description<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(serde_helpers::optional_words::<D, { text::MAX_DESCRIPTION_CHARS }>(deserializer)?.unwrap_or_default())
}
