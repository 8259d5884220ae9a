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
    balances: Vec<Balance>,
}

/// What the service's own ticket wallet holds of one mint and unit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TicketBalance)]
pub(crate) struct Balance {
    /// The mint.
    #[schema(example = "https://mint.example")]
    mint_url: String,
    /// The unit.
    #[schema(example = "multi")]
    unit: String,
    /// How much can be spent, in the unit.
    #[schema(example = 42)]
    amount: u64,
    /// How much is set aside, in the unit: the mint says that it is spent, and the service has not spent it. It is not in
    /// `amount`, and comes back when the mint says that it is unspent. Left out when it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 21)]
    set_aside: Option<u64>,
}

impl From<TicketBalance> for Balance {
    fn from(TicketBalance { mint_url, unit, amount, set_aside }: TicketBalance) -> Self {
        Self { mint_url, unit, amount, set_aside: Some(set_aside).filter(|amount| *amount > 0) }
    }
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
    let balances = state.engine.tickets().balances().await?;
    Ok(Json(Balances { balances: balances.into_iter().map(Balance::from).collect() }))
}
