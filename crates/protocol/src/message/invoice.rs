//! Requests for invoices from users (docs/protocol.md, Payments).

use nostr::PublicKey;
use serde::{Deserialize, Serialize};

use super::{Currency, ExchangeRate, PaymentHash};
use crate::{serde_helpers, text};

/// Longest Lightning invoice, in bytes. Usual ones have 300; the field lengths of BOLT 11 allow for some thousand.
pub const MAX_INVOICE_BYTES: usize = 8 * 1024;

/// Kind 28008: asks the user's wallet to make an invoice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvoiceRequest {
    /// Identifies the request in the reply.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
    /// How much, in [`Self::currency`].
    pub amount: u64,
    /// What [`Self::amount`] counts.
    pub currency: Currency,
    /// The rate at the time of the request; none for millisats.
    #[serde(default)]
    pub current_exchange_rate: Option<ExchangeRate>,
    /// Unix seconds until which the request can be answered.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
    /// What the payment is for.
    #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_DESCRIPTION_CHARS }>")]
    pub description: Option<String>,
    /// The invoice whose payment this one gives back.
    #[serde(default, deserialize_with = "serde_helpers::optional_visible::<_, MAX_INVOICE_BYTES>")]
    pub refund_invoice: Option<String>,
}

/// A request as a wallet sends it back, with the keys it knows it by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addressed<T> {
    /// The request. The wallet's copy: nothing but its `request_id` may be relied on.
    pub inner: T,
    /// The main key of the user, by the wallet's word.
    #[serde(with = "serde_helpers::public_key")]
    pub main_key: PublicKey,
    /// The key the request was encrypted to, by the wallet's word.
    #[serde(with = "serde_helpers::public_key")]
    pub recipient: PublicKey,
}

/// Kind 28009: the invoice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvoiceResponse {
    /// The request that is answered.
    pub request: Addressed<InvoiceRequest>,
    /// The Lightning invoice; to be checked before anybody relies on it.
    #[serde(deserialize_with = "serde_helpers::visible::<_, MAX_INVOICE_BYTES>")]
    pub invoice: String,
    /// Its payment hash, by the wallet's word.
    #[serde(default)]
    pub payment_hash: Option<PaymentHash>,
}
