//! `GET /payments/{stream_id}/receipt`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::event_data::RateData;
use usher_engine::ports::{BookedPayment, PaymentRecord, PaymentRecordStatus};
use usher_engine::{Price, Requester, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};

/// The receipt of a payment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Receipt)]
pub(crate) struct Receipt {
    /// The payment's stream: the number of the receipt.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// What was requested and paid, in millisats.
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
    /// What it was for.
    #[schema(example = "One coffee")]
    description: String,
    /// Your own reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "order-42")]
    request_id: Option<String>,
    /// The payment hash of the invoice. The payer's wallet has its preimage as proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "0001020304050607080900010203040506070809000102030405060708090102"
    )]
    payment_hash: Option<String>,
    /// When it was paid, in Unix seconds.
    #[schema(example = 1732137642)]
    paid_at: u64,
}

impl Receipt {
    fn of(BookedPayment { stream_id, changed_at, record, .. }: BookedPayment) -> Option<Self> {
        let PaymentRecord { status, amount, description, reference, payment_hash, price, .. } = record;
        let price: Option<Price> = price.and_then(|price| serde_json::from_str(&price).ok());
        (status == PaymentRecordStatus::Paid).then(|| Self {
            stream_id: stream_id.to_string(),
            amount_millisats: amount,
            amount: price.as_ref().map(|price| price.amount),
            currency: price.as_ref().map(|price| price.currency.to_string()),
            rate: price.as_ref().and_then(|price| price.rate.as_ref()).map(Into::into),
            description,
            request_id: reference,
            payment_hash: payment_hash.map(|hash| hash.to_string()),
            paid_at: changed_at.secs(),
        })
    }
}

/// Shows the receipt of a payment.
///
/// There is one for each payment that was paid, for `payments.records_days`.
#[utoipa::path(
    get,
    path = "/payments/{stream_id}/receipt",
    params(("stream_id" = String, Path, format = "uuid", description = "The payment's stream.")),
    responses(
        (status = 200, description = "The receipt.", body = Receipt),
        (status = 404, description = "`receipt_not_found`: There is no payment with this stream, it is not paid, or it was \
            paid so long ago that it was removed."),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn get_receipt(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    PathParameter(id): PathParameter<StreamId>,
) -> Result<Json<Receipt>, Problem> {
    let none = || Problem::new(ErrorCode::ReceiptNotFound, "no payment with this stream was paid");
    let payment = state.engine.payments().booked(&requester, id.ok_or_else(none)?).await?;
    payment.and_then(Receipt::of).map(Json).ok_or_else(none)
}
