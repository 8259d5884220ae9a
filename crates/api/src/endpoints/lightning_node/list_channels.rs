//! `GET /wallet/channels`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::ports::Channel;
use utoipa::ToSchema;

use super::node;
use crate::ApiState;
use crate::problem::Problem;

/// The channels of the node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Channels)]
pub(crate) struct Response {
    channels: Vec<Channel>,
}

/// Lists the channels of the service's own Lightning node.
///
/// A channel that is being closed with the peer's agreement is listed until its closing transaction is made. Nobody
/// outside is asked.
#[utoipa::path(
    get,
    path = "/wallet/channels",
    responses(
        (status = 200, description = "The channels.", body = Response),
        (status = 502, description = "`wallet_error`: The node does not run."),
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is not `embedded`."),
    ),
)]
pub(crate) async fn list_channels(State(state): State<ApiState>) -> Result<Json<Response>, Problem> {
    Ok(Json(Response { channels: node(&state)?.channels().await? }))
}
