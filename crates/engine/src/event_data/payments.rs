//! Data of events of payments.

use serde::Serialize;
use utoipa::ToSchema;

use super::rate::RateData;
use crate::price::Price;

/// Data of `StatusUpdate` on streams of payments, and of requests for invoices and subscriptions that failed.
#[derive(Clone, Default, Serialize, ToSchema)]
pub struct PaymentData {
    /// `approval_required`, `user_approved`, `user_failed` and `sending` are intermediate, the others final; `paid` may still follow
    /// them.
    #[schema(
        pattern = "^(approval_required|user_approved|user_failed|sending|paid|user_rejected|timeout|error)$",
        example = "paid"
    )]
    pub status: String,
    /// With `paid`: the proof, whose hash is the payment hash of the invoice; if the Lightning backend tells it.
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "0001020304050607080900010203040506070809000102030405060708090102"
    )]
    pub preimage: Option<String>,
    /// With `sending` and `paid` on chain: the transaction's id.
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "0001020304050607080900010203040506070809000102030405060708090102"
    )]
    pub txid: Option<String>,
    /// With `paid` by the Lightning backend, and with `sending`: fees in millisats.
    #[schema(nullable = false)]
    pub fees_paid: Option<u64>,
    /// With `skimmed_fee`: millisats that the service received.
    #[schema(nullable = false)]
    pub amount_received: Option<u64>,
    /// With `paid`: millisats that a liquidity provider kept, for example for a channel that it opened. The user paid both.
    #[schema(nullable = false)]
    pub skimmed_fee: Option<u64>,
    /// On the stream of a payment link: the payment, as `GET /payments` lists it.
    #[schema(nullable = false, format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    pub payment_id: Option<String>,
    /// On the stream of a payment link: what the payer wrote.
    #[schema(nullable = false, example = "For the dog")]
    pub comment: Option<String>,
    /// The reason; in the user's words with `user_rejected` and `user_failed`.
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// With `error`, if the Lightning backend may have paid, or been paid: whether it is certain that nothing was paid.
    #[schema(nullable = false, pattern = "^(not_paid|unknown)$")]
    pub outcome: Option<String>,
    /// If `paid` may still follow, because money may still arrive: until when, in Unix seconds.
    #[schema(nullable = false)]
    pub paid_late_until: Option<u64>,
    /// Your own reference.
    #[schema(nullable = false)]
    pub request_id: Option<String>,
    /// The subscription that the payment is for.
    #[schema(nullable = false)]
    pub subscription_id: Option<String>,
    /// If requested in another currency than millisats, or at a payment link: the amount, in its unit (sats, or the minor unit).
    #[schema(nullable = false)]
    pub amount: Option<u64>,
    /// If requested in another currency than millisats, or at a payment link: the currency.
    #[schema(nullable = false)]
    pub currency: Option<String>,
    /// If requested in another currency than millisats, or at a payment link: what was asked for, in millisats. With `txid`: what
    /// the payee gets.
    #[schema(nullable = false)]
    pub amount_millisats: Option<u64>,
    /// If requested in another currency than millisats and sats: at which rate.
    #[schema(nullable = false)]
    pub rate: Option<RateData>,
}

/// Data of `InvoiceResponse`: a verified invoice from a user's wallet.
#[derive(Clone, Default, Serialize, ToSchema)]
pub struct InvoiceData {
    /// The invoice (BOLT 11).
    #[schema(example = "lnbc250n1…")]
    pub invoice: String,
    /// Its payment hash.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "0001020304050607080900010203040506070809000102030405060708090102")]
    pub payment_hash: String,
    /// As you requested: millisats, sats, or the minor unit of `currency`.
    #[schema(example = 25000)]
    pub amount: u64,
    /// If requested in another currency than millisats: the currency.
    #[schema(nullable = false)]
    pub currency: Option<String>,
    /// If requested in another currency than millisats: the amount of the invoice, in millisats.
    #[schema(nullable = false)]
    pub amount_millisats: Option<u64>,
    /// If requested in another currency than millisats and sats: at which rate.
    #[schema(nullable = false)]
    pub rate: Option<RateData>,
    /// Your own reference.
    #[schema(nullable = false)]
    pub request_id: Option<String>,
}

impl PaymentData {
    /// The same, with the price.
    #[must_use]
    pub fn with_price(self, price: Option<&Price>) -> Self {
        let Some(price) = price else { return self };
        Self {
            amount: Some(price.amount),
            currency: Some(price.currency.to_string()),
            amount_millisats: Some(price.amount_millisats),
            rate: price.rate.as_ref().map(Into::into),
            ..self
        }
    }
}

impl InvoiceData {
    /// The amount, and nothing else yet.
    pub fn of_amount(millisats: u64, price: Option<&Price>) -> Self {
        Self {
            amount: price.map_or(millisats, |price| price.amount),
            currency: price.map(|price| price.currency.to_string()),
            amount_millisats: price.map(|price| price.amount_millisats),
            rate: price.and_then(|price| price.rate.as_ref()).map(Into::into),
            ..Self::default()
        }
    }
}
