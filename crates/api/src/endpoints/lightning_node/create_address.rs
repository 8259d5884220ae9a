//! `POST /wallet/addresses`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::request_body;
use utoipa::ToSchema;

use super::node;
use crate::ApiState;
use crate::audit;
use crate::body;
use crate::problem::Problem;

request_body! {
    /// Has no fields.
    pub(crate) struct Body, BodyDraft = "CreateAddressRequest", example {} {
    }
}

/// A Bitcoin address of the node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BitcoinAddress)]
pub(crate) struct Address {
    /// The address, on `wallet.network`.
    #[schema(example = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")]
    address: String,
}

/// Creates an address at which the node receives bitcoin.
///
/// What arrives there belongs to its on-chain balance (`GET /wallet/info`), from which `POST /wallet/channels` opens
/// channels. Earlier addresses stay valid.
#[utoipa::path(
    post,
    path = "/wallet/addresses",
    request_body(content = Option<Body>, description = "An empty body means `{}`."),
    responses(
        (status = 200, description = "The address.", body = Address),
        (status = 502, description = "`wallet_error`: The node does not run."),
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is not `embedded`."),
    ),
)]
pub(crate) async fn create_address(
    State(state): State<ApiState>,
    _: body::OptionalJson<Body>,
) -> Result<Json<Address>, Problem> {
    let node = node(&state)?;
    audit::begin(&state).await?;
    Ok(Json(Address { address: node.new_address().await? }))
}
