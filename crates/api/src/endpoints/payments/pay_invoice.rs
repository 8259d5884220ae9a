//! `POST /invoices/pay`

use axum::Json;
use usher_engine::PayInvoiceRequest;

use crate::body;
use crate::endpoints::change::{Change, Started};
use crate::problem::Problem;

/// Pays an invoice, from a user's wallet or from the service's Lightning backend.
///
/// With `main_key`, the user's wallet is asked to pay, and the stream gets the events that `POST /payments/single`
/// describes; Usher reports `paid` when the wallet shows the preimage. Without `main_key`, the Lightning backend pays:
/// `{status: "paid", preimage, fees_paid?}` or `{status: "error", reason, outcome}`. `outcome` is `not_paid`, or
/// `unknown` if the backend cannot tell; if the payment turns out to have been made, a later `paid` reports it.
///
/// An invoice is never paid twice: the same invoice always gets the stream of the first request. Another invoice with the
/// same payment hash is refused (422).
///
/// The Lightning backend pays at most `wallet.daily_budget_millisats` within 24 hours. Amount and the largest allowed fee
/// (`wallet.max_fee_percent`) must fit into what is left. If they are together more than `wallet.approval_above_millisats`, the
/// stream first gets `{status: "approval_required"}`, and the payment begins when somebody else approves it (`POST
/// /approvals/{stream_id}`).
#[utoipa::path(
    post,
    path = "/invoices/pay",
    request_body(content = PayInvoiceRequest, examples(
        ("plain" = (summary = "The service's Lightning backend pays", value = json!({
            "invoice": "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh",
        }))),
        ("with a user" = (summary = "A user is asked to pay", value = json!({
            "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "subkeys": [],
            "invoice": "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh",
        }))),
    )),
    responses(
        (status = 200, description = "The operation is stored and has started, now or by an earlier request.", body = Started),
        (status = 429, description = "`budget_exhausted`: too little is left of `wallet.daily_budget_millisats`. There is \
            room again after `Retry-After` seconds, if nothing else is paid until then."),
        (status = 503, description = "`wallet_not_configured`: there is no `main_key`, and `wallet.ln_backend` is `none`.\n\n\
            `storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn pay_invoice(
    change: Change,
    body::Checked(request): body::Checked<PayInvoiceRequest>,
) -> Result<Json<Started>, Problem> {
    change.start(async |engine, requester, once| engine.payments().pay(requester, request, once).await).await
}
