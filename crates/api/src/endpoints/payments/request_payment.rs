//! `POST /payments/single`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::{Engine, FieldValues, SinglePaymentRequest};
use usher_protocol::bolt11::MAX_DESCRIPTION_BYTES;
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody, Values};
use crate::endpoints::operation_started::{Error, Started};
use crate::field_reader::{self, Fields};
use crate::idempotency::IdempotencyContext;
use crate::tasks;

/// Asks a user for a payment.
#[derive(Debug, ToSchema)]
#[schema(as = SinglePaymentRequest, example = json!({
    "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "subkeys": [],
    "description": "One coffee",
    "amount": 10000,
    "currency": "millisats",
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for SinglePaymentRequest` reads")]
pub(crate) struct RequestBody {
    /// Who pays: 64 hex characters.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    main_key: String,
    /// Keys that may answer for it without a proof of delegation; usually none, and at most 8.
    subkeys: Vec<String>,
    /// What it is for; the invoice carries it. At most 639 bytes of UTF-8 (BOLT 11).
    #[schema(format = "text", max_length = 639)]
    description: String,
    /// Millisats, at most `limits.max_amount_millisats`.
    #[schema(format = "millisats", minimum = 1, maximum = 2_100_000_000_000_000_000_i64)]
    amount: u64,
    /// `millisats`, in either case.
    #[schema(pattern = "^[mM][iI][lL][lL][iI][sS][aA][tT][sS]$", example = "millisats")]
    currency: String,
    /// A subscription of the same `main_key`, open: the payment is checked against what the user authorized, and counted.
    #[schema(format = "identifier", nullable = false, min_length = 1, max_length = 256)]
    subscription_id: Option<String>,
    /// Your own reference; the events carry it.
    #[schema(format = "identifier", nullable = false, min_length = 1, max_length = 256)]
    request_id: Option<String>,
    /// Unix seconds until which the user can pay; in five minutes if not said, and within 24 hours.
    #[schema(format = "unix-time", nullable = false, minimum = 0, maximum = 253_402_300_799_i64)]
    expires_at: Option<u64>,
}

impl JsonBody for SinglePaymentRequest {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let main_key = fields.required("main_key", field_reader::public_key);
        let subkeys = fields.required("subkeys", field_reader::public_keys::<{ Engine::MAX_SUBKEYS }>);
        let description = fields.required("description", field_reader::words::<MAX_DESCRIPTION_BYTES>);
        let amount = fields.required("amount", field_reader::millisats);
        let currency = fields.required("currency", field_reader::currency);
        let subscription_id = fields.optional("subscription_id", field_reader::identifier);
        let reference = fields.optional("request_id", field_reader::identifier);
        let expires_at = fields.optional("expires_at", field_reader::unix_seconds);
        currency?;
        Some(Self {
            main_key: main_key?,
            subkeys: subkeys?,
            description: description?,
            amount: amount?,
            subscription_id,
            reference,
            expires_at,
        })
    }

    fn values(fields: &mut Fields<'_>) -> Option<Values> {
        Some(Values::Engine(FieldValues::SinglePayment {
            main_key: fields.required("main_key", field_reader::public_key),
            amount: fields.required("amount", field_reader::millisats),
            subscription_id: fields.optional("subscription_id", field_reader::identifier),
            expires_at: fields.optional("expires_at", field_reader::unix_seconds),
        }))
    }
}

/// Asks a user for a Lightning payment to the service's wallet.
///
/// Answers at once; the invoice is made and sent to the user's wallet afterwards. The stream gets `StatusUpdate` events:
/// `{status: "user_approved"}` and `{status: "user_failed", reason?}` on the way, and at the end one of
/// `{status: "paid", preimage}`, `{status: "user_rejected", reason?}`, `{status: "timeout", reason}` and
/// `{status: "error", reason}`. Money that arrives after the end is told by a later `paid`. Each carries your `request_id`.
#[utoipa::path(
    post,
    path = "/payments/single",
    request_body = RequestBody,
    responses(
        (status = 200, description = "It is stored and has started.", body = Started),
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is `none`.\n\n\
            `storage_unavailable`: The database is unavailable.\n\n`overloaded`: `limits.max_open_streams` are open."),
    ),
)]
pub(crate) async fn request_payment(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<SinglePaymentRequest>,
) -> Result<Json<Started>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(Started::on));
    let stream = tasks::run_detached(&state, async move { engine.start_single_payment(request, once).await }).await??;
    Ok(Started::answer(&stream))
}
