//! `POST /payments/single`

use axum::Json;
use serde::Serialize;
use usher_engine::event_data::RateData;
use usher_engine::{Engine, PricedOperation, SinglePaymentRequest};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::request_log;

/// A payment that has started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentStarted)]
pub(crate) struct Started {
    /// Where to read its events: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// A page for the payer's browser, on which the invoice can be paid with any Lightning wallet. Anybody who has it can pay.
    #[schema(example = "https://login.example/pay/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/5b0c…")]
    page_url: String,
    /// If requested in another currency than millisats: the amount, in its unit (sats, or the minor unit).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1250)]
    amount: Option<u64>,
    /// If requested in another currency than millisats: the currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "EUR")]
    currency: Option<String>,
    /// If requested in another currency than millisats: what the invoice is for, in millisats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 20000000)]
    amount_millisats: Option<u64>,
    /// If requested in another currency than millisats and sats: at which rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate: Option<RateData>,
    /// In a repeated response (`Idempotency-Key`), if the payment has ended unpaid: `timeout`, `user_rejected` or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^(timeout|user_rejected|error)$", example = "timeout")]
    status: Option<String>,
}

impl Started {
    fn on(engine: &Engine, started: &PricedOperation) -> Self {
        let (stream, price) = (started.stream_id, started.price.as_ref());
        Self {
            stream_id: stream.to_string(),
            page_url: engine.payments().page_url(stream),
            amount: price.map(|price| price.amount),
            currency: price.map(|price| price.currency.to_string()),
            amount_millisats: price.map(|price| price.amount_millisats),
            rate: price.and_then(|price| price.rate.as_ref()).map(Into::into),
            status: None,
        }
    }
}

/// Asks for a Lightning payment to the service.
///
/// With `main_key`, the user's wallet is asked; any other Lightning wallet can pay on `page_url`, to which you can redirect the
/// user's browser. Without it, no wallet is asked: anybody who opens `page_url` can pay.
///
/// The response comes at once; the invoice is created, and sent to the user's wallet, afterwards. The stream gets
/// `StatusUpdate` events: `{status: "user_approved"}` and `{status: "user_failed", reason?}` while the payment is in
/// progress, and finally one of `{status: "paid", preimage}`, `{status: "user_rejected", reason?}`, `{status:
/// "timeout", reason}` and `{status: "error", reason}`. If the money arrives after that, a later `paid` reports it: until
/// `paid_late_until`, a payer whose invoice has expired can get a new one on the page.
/// Each event contains your `request_id`.
///
/// An `amount` in another `currency` than millisats is converted now, rounded up to a whole sat. The response and each event have
/// `amount`, `currency`, `amount_millisats` and `rate`.
#[utoipa::path(
    post,
    path = "/payments/single",
    request_body(content = SinglePaymentRequest, examples(
        ("plain" = (summary = "One payment", value = json!({
            "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "subkeys": [],
            "description": "One coffee",
            "amount": 10000,
            "currency": "millisats",
        }))),
        ("anybody" = (summary = "A payment by anybody who opens its page", value = json!({
            "description": "One coffee",
            "amount": 10000,
            "currency": "millisats",
        }))),
        ("euros" = (summary = "12.50 euros", value = json!({
            "description": "One book",
            "amount": 1250,
            "currency": "EUR",
        }))),
        ("subscription" = (summary = "A payment of a subscription, with your own reference", value = json!({
            "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "subkeys": [],
            "description": "Membership, May",
            "amount": 10000,
            "currency": "millisats",
            "subscription_id": "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10",
            "request_id": "order-42",
        }))),
    )),
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`wallet_not_configured`\n\n`rate_unavailable`\n\n`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn request_payment(
    change: Change,
    body::Checked(request): body::Checked<SinglePaymentRequest>,
) -> Result<Json<Started>, Problem> {
    let engine = change.state.engine.clone();
    let once = change.once(move |started: &PricedOperation| Started::on(&engine, started));
    let started = change.state.engine.payments().request(&change.requester, request, once).await?;
    request_log::record_stream_id(&started.stream_id);
    Ok(Json(Started::on(&change.state.engine, &started)))
}
