//! A payment as the books have it, in responses.

use serde::Serialize;
use usher_engine::Price;
use usher_engine::event_data::RateData;
use usher_engine::ports::{BookedPayment, PaymentKind, PaymentRecord};
use utoipa::ToSchema;

/// A payment that the service received or made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BookedPayment)]
pub(crate) struct Payment {
    /// Its stream.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// `in`: to the service. `out`: by the service's Lightning backend.
    #[schema(pattern = "^(in|out)$", example = "in")]
    direction: &'static str,
    /// `payment`: `POST /payments/single`. `charge`: a due date of a subscription. `invoice`: an invoice that the Lightning
    /// backend pays, for `POST /invoices/pay` or for tickets. `refund`: `POST /payments/{stream_id}/refund`. `on_chain`:
    /// `POST /wallet/send`.
    #[schema(pattern = "^(payment|charge|invoice|refund|on_chain)$", example = "payment")]
    kind: &'static str,
    /// `open`; `paid`; `not_paid`: it has ended, and may still become `paid` while money can arrive; `unknown`: it has ended, and
    /// nobody knows whether it was paid.
    #[schema(pattern = "^(open|paid|not_paid|unknown)$", example = "paid")]
    status: &'static str,
    /// What was requested, in millisats.
    #[schema(example = 10000)]
    amount_millisats: u64,
    /// The price in the unit of `currency`. Missing, with `currency` and `rate`, if it was requested in millisats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 350)]
    amount: Option<u64>,
    /// The currency (ISO 4217).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "EUR")]
    currency: Option<String>,
    /// The rate at which it was priced.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate: Option<RateData>,
    /// What has arrived, or was paid without `fee_millisats`. Missing unless it is `paid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 10000)]
    settled_millisats: Option<u64>,
    /// What was paid on top of `amount_millisats`: a payer paid a further invoice as well, or more than the invoice. You can refund
    /// it. Missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 10000)]
    overpaid_millisats: Option<u64>,
    /// What the liquidity provider kept of a payment that arrived, or what routing or the miners cost. Missing if there is none, or it is not
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 12)]
    fee_millisats: Option<u64>,
    /// What it is for; of a payment on chain the address.
    #[schema(example = "One coffee")]
    description: String,
    /// Your own reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "order-42")]
    request_id: Option<String>,
    /// The payment hash of its invoice. Missing before there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "0001020304050607080900010203040506070809000102030405060708090102"
    )]
    payment_hash: Option<String>,
    /// The id of the transaction of a payment on chain. Missing before there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "0001020304050607080900010203040506070809000102030405060708090102"
    )]
    txid: Option<String>,
    /// The stream of the payment that it pays back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    refund_of: Option<String>,
    /// When it was requested, in Unix seconds.
    #[schema(example = 1732137600)]
    created_at: u64,
    /// When it last changed, in Unix seconds; of a payment that is `paid`, when it was.
    #[schema(example = 1732137642)]
    changed_at: u64,
}

impl From<BookedPayment> for Payment {
    fn from(BookedPayment { stream_id, created_at, changed_at, record }: BookedPayment) -> Self {
        let PaymentRecord {
            kind,
            status,
            amount,
            settled,
            fee,
            description,
            reference,
            payment_hash,
            price,
            refund_of,
        } = record;
        let overpaid = settled.filter(|_| kind.is_incoming()).and_then(|settled| {
            settled.saturating_add(fee.unwrap_or_default()).checked_sub(amount).filter(|overpaid| *overpaid > 0)
        });
        let hash = payment_hash.map(|hash| hash.to_string());
        let (payment_hash, txid) = if kind == PaymentKind::OnChain { (None, hash) } else { (hash, None) };
        let price: Option<Price> = price.and_then(|price| serde_json::from_str(&price).ok());
        Self {
            stream_id: stream_id.to_string(),
            direction: if kind.is_incoming() { "in" } else { "out" },
            kind: kind.as_str(),
            status: status.as_str(),
            amount_millisats: amount,
            amount: price.as_ref().map(|price| price.amount),
            currency: price.as_ref().map(|price| price.currency.to_string()),
            rate: price.as_ref().and_then(|price| price.rate.as_ref()).map(Into::into),
            settled_millisats: settled,
            overpaid_millisats: overpaid,
            fee_millisats: fee,
            description,
            request_id: reference,
            payment_hash,
            txid,
            refund_of: refund_of.map(|payment| payment.to_string()),
            created_at: created_at.secs(),
            changed_at: changed_at.secs(),
        }
    }
}
