//! `POST /cashu/burn`

use axum::Json;
use serde::Serialize;
use usher_engine::BurnTicket;
use utoipa::ToSchema;

use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::{audit, body};

/// A ticket that was redeemed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TicketBurned)]
pub(crate) struct Burned {
    /// What the service received, in the token's unit: the token's value without the mint's fee.
    #[schema(example = 1)]
    amount: u64,
}

impl Burned {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the engine hands out what it stores by reference")]
    const fn of(amount: &u64) -> Self {
        Self { amount: *amount }
    }
}

/// Redeems a ticket: from then on nobody can use it.
///
/// The value joins the service's own balance (`GET /cashu/balances`). Burn what users give you at once, before you let
/// them in: until then, copies of the token are as good as the token. Send an `Idempotency-Key`: if the response is lost,
/// the same request with the same key returns it, whereas a new request gets `token_already_spent`.
#[utoipa::path(
    post,
    path = "/cashu/burn",
    request_body = BurnTicket,
    responses(
        (status = 200, description = "The ticket is redeemed.", body = Burned),
        (status = 409, description = "`token_already_spent`: Somebody has redeemed it already, perhaps you.\n\n\
            `token_pending`: The mint holds it as pending. Do not accept it yet; repeat the request with the same \
            `Idempotency-Key` until the mint has decided."),
        (status = 422, description = "`invalid_request`: Some fields are wrong; or the token is malformed, forged, locked to \
            somebody else or worth less than the fee (`/token`), of another mint (`/mint_url`), or in another unit \
            (`/unit`)."),
        (status = 502, description = "`mint_error`"),
        (status = 503, description = "`storage_unavailable`\n\n\
            `overloaded`: Too many tickets wait for their mints to redeem them."),
        (status = 504, description = "`mint_timeout`"),
    ),
)]
pub(crate) async fn burn_ticket(
    change: Change,
    body::Json(request): body::Json<BurnTicket>,
) -> Result<Json<Burned>, Problem> {
    audit::add_server("mint_url", request.mint_url.as_str());
    change
        .wait_for_mint(Burned::of, |engine, requester, once| async move {
            engine.tickets().burn(&requester, request, once).await
        })
        .await
}
