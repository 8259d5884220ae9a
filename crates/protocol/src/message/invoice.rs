//! Requests for invoices from users (docs/protocol.md, Payments).

use nostr::PublicKey;
use serde::{Deserialize, Serialize};

use super::{Currency, ExchangeRate, PaymentHash};
use crate::{serde_helpers, text};

/// Longest Lightning invoice, in bytes. Typical ones have 300; BOLT 11 allows for some thousand.
pub const MAX_INVOICE_BYTES: usize = 8 * 1024;

/// Kind 28008: asks the user's wallet to create an invoice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvoiceRequest {
    /// Identifies the request in the reply.
    #[serde(deserialize_with = "serde_helpers::id")]
    pub request_id: String,
    /// The amount, in [`Self::currency`].
    pub amount: u64,
    /// The unit of [`Self::amount`].
    pub currency: Currency,
    /// The rate at the time of the request; none for millisats.
    #[serde(default)]
    pub current_exchange_rate: Option<ExchangeRate>,
    /// Unix seconds until which a reply is valid.
    #[serde(with = "serde_helpers::timestamp")]
    pub expires_at: u64,
    /// What the payment is for.
    #[serde(default, deserialize_with = "serde_helpers::optional_words::<_, { text::MAX_DESCRIPTION_CHARS }>")]
    pub description: Option<String>,
    /// The invoice whose payment is refunded.
    #[serde(default, deserialize_with = "serde_helpers::optional_visible::<_, MAX_INVOICE_BYTES>")]
    pub refund_invoice: Option<String>,
}

/// A request as sent back by a wallet, with the keys under which it knows the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addressed<T> {
    /// The wallet's copy of the request: only its `request_id` is reliable.
    pub inner: T,
    /// The main key of the user, as claimed by the wallet.
    #[serde(with = "serde_helpers::public_key")]
    pub main_key: PublicKey,
    /// The key to which the request was encrypted, as claimed by the wallet.
    #[serde(with = "serde_helpers::public_key")]
    pub recipient: PublicKey,
}

/// Kind 28009: the invoice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvoiceResponse {
    /// The request.
    pub request: Addressed<InvoiceRequest>,
    /// The Lightning invoice, which is not verified.
    #[serde(deserialize_with = "serde_helpers::visible::<_, MAX_INVOICE_BYTES>")]
    pub invoice: String,
    /// Its payment hash, as claimed by the wallet.
    #[serde(default)]
    pub payment_hash: Option<PaymentHash>,
}
