//! `POST /invoices/request`

use axum::Json;
use usher_engine::RequestInvoice;

use crate::body;
use crate::endpoints::change::{Change, PricedStarted};
use crate::problem::Problem;

/// Asks a user's wallet for an invoice.
///
/// The stream gets one event: `InvoiceResponse` `{invoice, payment_hash, amount}`, with a verified invoice (signature,
/// amount, network, expiry), or `StatusUpdate` `{status: "timeout"}` or `{status: "error", reason}`. Pay the invoice
/// with `POST /invoices/pay`.
///
/// An `amount` in another `currency` than millisats is converted now, rounded up to a whole sat, and the wallet is asked for an
/// invoice of so many millisats. The response and each event have `amount`, `currency`, `amount_millisats` and `rate`.
#[utoipa::path(
    post,
    path = "/invoices/request",
    request_body = RequestInvoice,
    responses(
        (status = 200, description = "The operation is stored and has started.", body = PricedStarted),
        (status = 503, description = "`rate_unavailable`\n\n`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn request_invoice(
    change: Change,
    body::Checked(request): body::Checked<RequestInvoice>,
) -> Result<Json<PricedStarted>, Problem> {
    change
        .start_priced(async |engine, requester, once| engine.payments().request_invoice(requester, request, once).await)
        .await
}
