//! `POST /cashu/mint`

use axum::Json;
use serde::Serialize;
use usher_engine::ports::Token;
use usher_engine::{MintTicket, PendingAudit};
use utoipa::ToSchema;

use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::{audit, body};

/// A new ticket.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ticket)]
pub(crate) struct Ticket {
    /// A Cashu token (NUT-00, version 4). Anybody who has it can spend it.
    #[schema(example = "cashuBo2FteBtodHRwczovL21pbnQuZXhhbXBsZS5jb21hdWVtdWx0aWF0gaJhaUgArSaLR8qGYGFwgaNhYQFhc3hA…")]
    token: String,
}

impl Ticket {
    pub(crate) fn of(token: &Token) -> Self {
        Self { token: token.0.clone() }
    }
}

/// Mints a ticket and returns it.
///
/// The request waits for the mint, up to 25 seconds. If the mint wants its quote paid, the Lightning backend pays it, for
/// the token and for keys that have `payments:send` too. Send an
/// `Idempotency-Key`: the same request with the same key never mints twice, and returns the same token, also after
/// `mint_timeout` and after a crash. Without a key, a token that comes too late joins the service's own balance
/// (`GET /cashu/balances`).
#[utoipa::path(
    post,
    path = "/cashu/mint",
    request_body(content = MintTicket, examples(
        ("plain" = (summary = "One ticket", value = json!({
            "mint_url": "https://mint.example",
            "unit": "multi",
            "amount": 1,
        }))),
        ("own mint" = (summary = "Of your own mint, which knows you by a token", value = json!({
            "mint_url": "https://mint.example",
            "unit": "multi",
            "amount": 1,
            "static_token": "the-token-of-the-mint",
            "description": "Concert, May 1",
        }))),
    )),
    responses(
        (status = 200, description = "The mint has signed the token.", body = Ticket),
        (status = 403, description = "`scope_missing`: The API key lacks a scope. If the mint wants its quote paid, it needs \
            `payments:send` too."),
        (status = 409, description = "`approval_required`: The mint wants its quote paid, for more than \
            `wallet.approval_above_millisats`. `stream_id` is the payment: somebody else has to approve it (`POST \
            /approvals/{stream_id}`). Then repeat the request with the same `Idempotency-Key`."),
        (status = 429, description = "`budget_exhausted`: The mint wants its quote paid, and too little is left of \
            `wallet.daily_budget_millisats`. There is room again after `Retry-After` seconds, if nothing else is paid until \
            then. Repeat the request with the same `Idempotency-Key`."),
        (status = 502, description = "`mint_error`\n\n\
            `wallet_error`: The mint wants its quote paid, and the Lightning backend did not pay it."),
        (status = 503, description = "`wallet_not_configured`: The mint wants its quote paid, and `wallet.ln_backend` is `none`.\n\n\
            `storage_unavailable`\n\n`overloaded`: Too many requests wait for mints."),
        (status = 504, description = "`mint_timeout`"),
    ),
)]
pub(crate) async fn mint_ticket(
    change: Change,
    body::Json(request): body::Json<MintTicket>,
) -> Result<Json<Ticket>, Problem> {
    audit::add_server("mint_url", request.mint_url.as_str());
    PendingAudit::add_detail("amount", request.amount);
    PendingAudit::add_detail("unit", request.unit.as_str());
    change
        .wait_for_mint(Ticket::of, |engine, requester, once| async move {
            engine.tickets().mint(&requester, request, once).await
        })
        .await
}
