//! `POST /invoices/request`

use axum::extract::State;
use axum::{Extension, Json};
use serde_json::Value;
use usher_engine::{Engine, FieldValues, RequestInvoice};
use usher_protocol::bolt11::MAX_DESCRIPTION_BYTES;
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody, Values};
use crate::endpoints::operation_started::{Error, Started};
use crate::field_reader::{self, Errors, Fields};
use crate::idempotency::IdempotencyContext;
use crate::tasks;

/// Asks a user for an invoice.
#[derive(Debug, ToSchema)]
#[schema(as = InvoiceRequest, example = json!({
    "recipient_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "subkeys": [],
    "content": { "amount": 10000, "currency": "millisats", "description": "Refund" },
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for RequestInvoice` reads")]
pub(crate) struct RequestBody {
    /// Whose wallet makes it: 64 hex characters.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    recipient_key: String,
    /// Keys that may answer for it without a proof of delegation; usually none, and at most 8.
    subkeys: Vec<String>,
    content: ContentBody,
}

/// What the invoice is for.
#[derive(Debug, ToSchema)]
#[schema(as = InvoiceRequestContent)]
#[expect(dead_code, reason = "describes what `content` reads")]
pub(crate) struct ContentBody {
    /// Millisats, at most `limits.max_amount_millisats`.
    #[schema(format = "millisats", minimum = 1, maximum = 2_100_000_000_000_000_000_i64)]
    amount: u64,
    /// `millisats`, in either case.
    #[schema(pattern = "^[mM][iI][lL][lL][iI][sS][aA][tT][sS]$", example = "millisats")]
    currency: String,
    /// At most 639 bytes of UTF-8.
    #[schema(format = "text", nullable = false, max_length = 639)]
    description: Option<String>,
    /// Unix seconds until which the user can answer; in five minutes if not said, and within 24 hours.
    #[schema(format = "unix-time", nullable = false, minimum = 0, maximum = 253_402_300_799_i64)]
    expires_at: Option<u64>,
    /// Your own reference; the events carry it.
    #[schema(format = "identifier", nullable = false, min_length = 1, max_length = 256)]
    request_id: Option<String>,
}

/// What stands in `content`.
struct Content {
    amount: u64,
    description: Option<String>,
    expires_at: Option<u64>,
    reference: Option<String>,
}

impl JsonBody for RequestInvoice {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let main_key = fields.required("recipient_key", field_reader::public_key);
        let subkeys = fields.required("subkeys", field_reader::public_keys::<{ Engine::MAX_SUBKEYS }>);
        let Content { amount, description, expires_at, reference } = fields.required("content", content)?;
        Some(Self { main_key: main_key?, subkeys: subkeys?, amount, description, reference, expires_at })
    }

    fn values(fields: &mut Fields<'_>) -> Option<Values> {
        fields.optional("content", |pointer, value, errors| {
            let mut fields = Fields::within(pointer, value, errors)?;
            Some(Values::Engine(FieldValues::InvoiceRequest {
                amount: fields.required("amount", field_reader::millisats),
                expires_at: fields.optional("expires_at", field_reader::unix_seconds),
            }))
        })
    }
}

fn content(pointer: &str, value: &Value, errors: &mut Errors) -> Option<Content> {
    let mut fields = Fields::within(pointer, value, errors)?;
    let amount = fields.required("amount", field_reader::millisats);
    let currency = fields.required("currency", field_reader::currency);
    let description = fields.optional("description", field_reader::words::<MAX_DESCRIPTION_BYTES>);
    let expires_at = fields.optional("expires_at", field_reader::unix_seconds);
    let reference = fields.optional("request_id", field_reader::identifier);
    currency?;
    Some(Content { amount: amount?, description, expires_at, reference })
}

/// Asks a user's wallet for an invoice.
///
/// The stream gets one event: `InvoiceResponse` `{invoice, payment_hash, amount}` with an invoice that was checked (its
/// signature, amount and network, and that it has not expired), or `StatusUpdate` `{status: "timeout"}` or
/// `{status: "error", reason}`. `POST /invoices/pay` pays it.
#[utoipa::path(
    post,
    path = "/invoices/request",
    request_body = RequestBody,
    responses(
        (status = 200, description = "It is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` are open."),
    ),
)]
pub(crate) async fn request_invoice(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<RequestInvoice>,
) -> Result<Json<Started>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(Started::on));
    let stream = tasks::run_detached(&state, async move { engine.request_invoice(request, once).await }).await??;
    Ok(Started::answer(&stream))
}
