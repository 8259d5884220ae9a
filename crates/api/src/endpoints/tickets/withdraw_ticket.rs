//! `POST /cashu/withdraw`

use axum::Json;
use usher_engine::{PendingAudit, WithdrawTicket};

use super::mint_ticket::Ticket;
use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::{audit, body};

/// Takes a token out of the service's own balance.
///
/// The balance is what you burned or took back (`GET /cashu/balances`). Use this to move it to another wallet. Send an
/// `Idempotency-Key`: the same request with the same key returns the same token. Without a key, a token whose response is
/// lost returns to the balance only if the service was interrupted before the token was made.
#[utoipa::path(
    post,
    path = "/cashu/withdraw",
    request_body = WithdrawTicket,
    responses(
        (status = 200, description = "The token.", body = Ticket),
        (status = 422, description = "`invalid_request`: Some fields are wrong, or the balance does not cover `amount` and \
            the mint's fee (`/amount`)."),
        (status = 403, description = "`token_required`: `wallet.approval_above_millisats` or \
            `wallet.daily_budget_millisats` limits what keys send, and counts no withdrawals: use the token."),
        (status = 409, description = "`token_pending`: The mint holds tickets of the balance that are to be spent as pending. \
            The work continues: repeat the request with the same `Idempotency-Key`."),
        (status = 502, description = "`mint_error`"),
        (status = 503, description = "`storage_unavailable`\n\n`overloaded`: Too many requests wait for mints."),
        (status = 504, description = "`mint_timeout`"),
    ),
)]
pub(crate) async fn withdraw_ticket(
    change: Change,
    body::Json(request): body::Json<WithdrawTicket>,
) -> Result<Json<Ticket>, Problem> {
    audit::add_server("mint_url", request.mint_url.as_str());
    PendingAudit::add_detail("amount", request.amount);
    PendingAudit::add_detail("unit", request.unit.as_str());
    change.state.engine.tickets().check_withdrawal(&change.requester)?;
    change
        .wait_for_mint(Ticket::of, |engine, requester, once| async move {
            engine.tickets().withdraw(&requester, request, once).await
        })
        .await
}
