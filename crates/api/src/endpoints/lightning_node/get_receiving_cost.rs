//! `POST /wallet/receiving-cost`

use axum::Json;
use axum::extract::State;
use usher_engine::ports::ReceivingCost;
use usher_engine::request_body;
use usher_engine::request_body::Millisats;

use super::node;
use crate::ApiState;
use crate::body;
use crate::problem::Problem;

request_body! {
    /// A payment to receive.
    pub(crate) struct Body, BodyDraft = "ReceivingCostRequest", example { "amount": 50000000 } {
        /// Millisats.
        amount: Millisats,
    }
}

/// Tells what it would cost now to receive a payment.
///
/// If the channels cannot receive that much in one payment, the liquidity provider opens another one and keeps a fee of
/// the payment. It is asked for its price of this moment. Changes nothing.
#[utoipa::path(
    post,
    path = "/wallet/receiving-cost",
    request_body = Body,
    responses(
        (status = 200, description = "The cost.", body = ReceivingCost),
        (status = 502, description = "`wallet_error`: The payment could not be received: the node does not run, or the \
            liquidity provider cannot be reached, opens no channel for this amount, or wants more than \
            `wallet.embedded.max_opening_fee_percent`."),
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is not `embedded`."),
    ),
)]
pub(crate) async fn get_receiving_cost(
    State(state): State<ApiState>,
    body::Json(Body { amount }): body::Json<Body>,
) -> Result<Json<ReceivingCost>, Problem> {
    Ok(Json(node(&state)?.receiving_cost(amount).await?))
}
