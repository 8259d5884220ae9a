//! `GET /cashu/balances`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::ports::TicketBalance;
use utoipa::ToSchema;

use crate::ApiState;
use crate::problem::Problem;

/// What the service's own ticket wallet holds.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TicketBalances)]
pub(crate) struct Balances {
    /// One entry for each mint and unit that is not empty.
    balances: Vec<TicketBalance>,
}

/// Lists what the service's own ticket wallet holds.
///
/// It holds what you burned and took back, and tokens that were minted without an `Idempotency-Key` and that nobody got.
/// `POST /cashu/withdraw` takes value out. No mint is asked.
#[utoipa::path(
    get,
    path = "/cashu/balances",
    responses(
        (status = 200, description = "The balances.", body = Balances),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_ticket_balances(State(state): State<ApiState>) -> Result<Json<Balances>, Problem> {
    Ok(Json(Balances { balances: state.engine.tickets().balances().await? }))
}
