//! `POST /invoices/request`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::RequestInvoice;

use crate::ApiState;
use crate::body;
use crate::endpoints::operation_started::{Error, Started, start_operation};
use crate::idempotency::IdempotencyContext;

/// Asks a user's wallet for an invoice.
///
/// The stream gets one event: `InvoiceResponse` `{invoice, payment_hash, amount}`, with a verified invoice (signature,
/// amount, network, expiry), or `StatusUpdate` `{status: "timeout"}` or `{status: "error", reason}`. Pay the invoice
/// with `POST /invoices/pay`.
#[utoipa::path(
    post,
    path = "/invoices/request",
    request_body = RequestInvoice,
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` is reached."),
    ),
)]
pub(crate) async fn request_invoice(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Checked(request): body::Checked<RequestInvoice>,
) -> Result<Json<Started>, Error> {
    start_operation(&state, idempotency, |engine, once| async move {
        engine.payments().request_invoice(request, once).await
    })
    .await
}
