//! `POST /invoices/pay`

use axum::extract::State;
use axum::{Extension, Json};
use serde_json::Value;
use usher_engine::{Engine, FieldValues, PayInvoiceRequest};
use usher_protocol::bolt11::{Invoice, MAX_DESCRIPTION_BYTES};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody, Values};
use crate::endpoints::operation_started::{Error, Started};
use crate::field_reader::{self, Errors, Fields};
use crate::idempotency::IdempotencyContext;
use crate::tasks;

/// Has an invoice paid.
#[derive(Debug, ToSchema)]
#[schema(as = PayInvoiceRequest, example = json!({
    "invoice": "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh",
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for PayInvoiceRequest` reads")]
pub(crate) struct RequestBody {
    /// Who is asked to pay: 64 hex characters. Without it, the service's own wallet pays.
    #[schema(nullable = false, pattern = "^[0-9a-fA-F]{64}$")]
    main_key: Option<String>,
    /// Keys that may answer for `main_key` without a proof of delegation; at most 8.
    #[schema(nullable = false)]
    subkeys: Option<Vec<String>>,
    /// A BOLT 11 invoice that names its amount, has not expired, and is for `wallet.network`.
    #[schema(format = "bolt11", min_length = 1, max_length = 8192)]
    invoice: String,
    /// Millisats; must be the invoice's amount.
    #[schema(format = "millisats", nullable = false, minimum = 1, maximum = 2_100_000_000_000_000_000_i64)]
    amount: Option<u64>,
    /// `millisats`, in either case.
    #[schema(nullable = false, pattern = "^[mM][iI][lL][lL][iI][sS][aA][tT][sS]$", example = "millisats")]
    currency: Option<String>,
    /// What it is for, as the user is shown it; the invoice's own description if not said. At most 639 bytes of UTF-8.
    #[schema(format = "text", nullable = false, max_length = 639)]
    description: Option<String>,
    /// Unix seconds until which the user can pay, or until which the service's own wallet is asked to; in five minutes if not
    /// said, and within 24 hours. Never longer than the invoice can be paid.
    #[schema(format = "unix-time", nullable = false, minimum = 0, maximum = 253_402_300_799_i64)]
    expires_at: Option<u64>,
    /// Your own reference; the events carry it.
    #[schema(format = "identifier", nullable = false, min_length = 1, max_length = 256)]
    request_id: Option<String>,
}

impl JsonBody for PayInvoiceRequest {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let main_key = fields.optional("main_key", field_reader::public_key);
        let subkeys = fields.optional("subkeys", field_reader::public_keys::<{ Engine::MAX_SUBKEYS }>);
        let invoice = fields.required("invoice", invoice);
        let amount = fields.optional("amount", field_reader::millisats);
        fields.optional("currency", field_reader::currency);
        let description = fields.optional("description", field_reader::words::<MAX_DESCRIPTION_BYTES>);
        let expires_at = fields.optional("expires_at", field_reader::unix_seconds);
        let reference = fields.optional("request_id", field_reader::identifier);
        Some(Self {
            main_key,
            subkeys: subkeys.unwrap_or_default(),
            invoice: invoice?,
            amount,
            description,
            reference,
            expires_at,
        })
    }

    fn values(fields: &mut Fields<'_>) -> Option<Values> {
        Some(Values::Engine(FieldValues::InvoicePayment {
            invoice: fields.required("invoice", invoice),
            amount: fields.optional("amount", field_reader::millisats),
            expires_at: fields.optional("expires_at", field_reader::unix_seconds),
        }))
    }
}

/// What is wrong with an invoice is said without quoting it.
fn invoice(pointer: &str, value: &Value, errors: &mut Errors) -> Option<Invoice> {
    let text = field_reader::text(pointer, value, errors)?;
    match text.parse::<Invoice>() {
        Ok(invoice) => Some(invoice),
        Err(error) => errors.note(pointer, error),
    }
}

/// Has another's invoice paid: by a user, or by the service's own wallet.
///
/// With `main_key`, the user's wallet is asked, and the stream gets what `POST /payments/single` describes; `paid` is said
/// when the wallet shows the preimage. Without it, the service's wallet pays: `{status: "paid", preimage, fees_paid?}` or
/// `{status: "error", reason, outcome}`, where `outcome` is `not_paid`, or `unknown` when the wallet cannot say; should
/// the payment turn out to have been made, a later `paid` says so.
///
/// An invoice is never paid twice: asked again, the answer is the stream of the first call.
#[utoipa::path(
    post,
    path = "/invoices/pay",
    request_body = RequestBody,
    responses(
        (status = 200, description = "It is stored and has started, now or by an earlier call.", body = Started),
        (status = 503, description = "`wallet_not_configured`: there is no `main_key`, and `wallet.ln_backend` is \
            `none`.\n\n`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` are open."),
    ),
)]
pub(crate) async fn pay_invoice(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<PayInvoiceRequest>,
) -> Result<Json<Started>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(Started::on));
    let stream = tasks::run_detached(&state, async move { engine.pay_invoice(request, once).await }).await??;
    Ok(Started::answer(&stream))
}
