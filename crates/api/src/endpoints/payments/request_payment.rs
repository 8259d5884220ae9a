//! `POST /payments/single`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::{Engine, FieldValues, SinglePaymentRequest, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body;
use crate::endpoints::operation_started::Error;
use crate::field_types::{Currency, Description, Identifier, Key, Millisats, Subkeys, UnixSeconds, WebUrl};
use crate::idempotency::IdempotencyContext;
use crate::request_body::{RequestBody, ValuesToCheck, request_body};
use crate::request_log;
use crate::tasks;

request_body! {
    /// Asks a user for a payment.
    pub(crate) struct Body = "SinglePaymentRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "description": "One coffee",
        "amount": 10000,
        "currency": "millisats",
    } {
        /// Who pays: 64 hex characters.
        main_key: Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// What the payment is for; the invoice contains it. At most 639 bytes of UTF-8 (BOLT 11).
        description: Description,
        /// Millisats, at most `limits.max_amount_millisats`.
        amount: Millisats,
        /// `millisats`, in either case.
        currency: Currency,
        /// An active subscription of the same `main_key`: the payment is checked against what the user authorized, and
        /// counted.
        subscription_id: Option<Identifier>,
        /// Your own reference, repeated in the events.
        request_id: Option<Identifier>,
        /// Unix seconds until which the user can pay: at most 24 hours ahead, by default five minutes.
        expires_at: Option<UnixSeconds>,
        /// Where the payment page leads the user's browser at the end, with `stream_id` in the query. It must be under one of
        /// `pages.return_urls`.
        return_url: Option<WebUrl>,
    }
}

impl RequestBody for Body {
    type Request = SinglePaymentRequest;

    fn complete(self) -> Option<SinglePaymentRequest> {
        self.currency?;
        Some(SinglePaymentRequest {
            main_key: self.main_key?,
            subkeys: self.subkeys?,
            description: self.description?,
            amount: self.amount?,
            subscription_id: self.subscription_id,
            reference: self.request_id,
            expires_at: self.expires_at,
            return_url: self.return_url,
        })
    }

    fn values(&self) -> Option<ValuesToCheck> {
        Some(ValuesToCheck::Engine(FieldValues::SinglePayment {
            main_key: self.main_key,
            amount: self.amount,
            subscription_id: self.subscription_id.clone(),
            expires_at: self.expires_at,
        }))
    }
}

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
    request_body(content = Body, examples(
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
    body::Json(request): body::Json<Body>,
) -> Result<Json<Started>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| {
        let engine = state.engine.clone();
        idempotency.request(move |stream: &StreamId| Started::on(&engine, *stream))
    });
    let started = async move { engine.payments().request(request, once).await };
    let stream = tasks::run_detached(&state, started).await??;
    request_log::record_stream_id(&stream);
    Ok(Json(Started::on(&state.engine, stream)))
}
