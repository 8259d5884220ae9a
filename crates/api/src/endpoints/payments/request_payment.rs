//! `POST /payments/single`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::{Engine, SinglePaymentRequest, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body;
use crate::detached_change;
use crate::endpoints::operation_started::Error;
use crate::idempotency::IdempotencyContext;
use crate::request_log;

/// A payment that has started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentStarted)]
pub(crate) struct Started {
    /// Where to read its events: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// A page for the user's browser, on which the invoice can be paid with any Lightning wallet. Anybody who has it can pay.
    #[schema(example = "https://login.example/pay/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/5b0c…")]
    page_url: String,
}

impl Started {
    fn on(engine: &Engine, stream: StreamId) -> Self {
        Self { stream_id: stream.to_string(), page_url: engine.payments().page_url(stream) }
    }
}

/// Asks a user for a Lightning payment to the service.
///
/// The user's wallet is asked; any other Lightning wallet can pay on `page_url`, to which you can redirect the user's browser.
///
/// The response comes at once; the invoice is created and sent to the user's wallet afterwards. The stream gets
/// `StatusUpdate` events: `{status: "user_approved"}` and `{status: "user_failed", reason?}` while the payment is in
/// progress, and finally one of `{status: "paid", preimage}`, `{status: "user_rejected", reason?}`, `{status:
/// "timeout", reason}` and `{status: "error", reason}`. If the money arrives after that, a later `paid` reports it.
/// Each event contains your `request_id`.
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
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is `none`.\n\n\
            `storage_unavailable`: The database is unavailable.\n\n`overloaded`: `limits.max_open_streams` is reached."),
    ),
)]
pub(crate) async fn request_payment(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Checked(request): body::Checked<SinglePaymentRequest>,
) -> Result<Json<Started>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| {
        let engine = state.engine.clone();
        idempotency.request(move |stream: &StreamId| Started::on(&engine, *stream))
    });
    let started = async move { engine.payments().request(request, once).await };
    let stream = detached_change::run_detached(&state, started).await??;
    request_log::record_stream_id(&stream);
    Ok(Json(Started::on(&state.engine, stream)))
}
