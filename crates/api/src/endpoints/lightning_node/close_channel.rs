//! `POST /wallet/channels/{channel_id}/close`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::ports::NodeError;
use usher_engine::request_body;
use usher_engine::request_body::{Flag, OrDefault};
use utoipa::ToSchema;

use super::node;
use crate::ApiState;
use crate::audit;
use crate::body;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;

request_body! {
    /// How to close a channel.
    pub(crate) struct Body, BodyDraft = "CloseChannelRequest", example {} {
        /// Without the peer's agreement. The money is locked for days, and the fees are higher: only for a peer that does not
        /// come back.
        force: OrDefault<Flag>,
    }
}

/// A channel that is being closed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChannelClosing)]
pub(crate) struct Closing {
    /// `closing`: its money is in the node's on-chain balance once the closing transaction is confirmed.
    #[schema(example = "closing")]
    status: &'static str,
}

/// Closes a channel; its money returns to the node's on-chain balance, less fees.
///
/// A repeated request finds the channel still closing, or gone (404): it closes nothing else.
#[utoipa::path(
    post,
    path = "/wallet/channels/{channel_id}/close",
    params(("channel_id" = String, Path, description = "The `channel_id` of `GET /wallet/channels`.")),
    request_body(content = Option<Body>, description = "An empty body means `{}`."),
    responses(
        (status = 200, description = "The channel is being closed.", body = Closing),
        (status = 404, description = "`channel_not_found`: There is no such channel, or it is closed."),
        (status = 502, description = "`wallet_error`: The node does not run, or the peer does not agree now."),
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is not `embedded`."),
    ),
)]
pub(crate) async fn close_channel(
    State(state): State<ApiState>,
    PathParameter(id): PathParameter,
    body::OptionalJson(Body { force }): body::OptionalJson<Body>,
) -> Result<Json<Closing>, Problem> {
    // Text that is not hex names no channel.
    let is_hex = |id: &String| id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = id.filter(is_hex).ok_or(NodeError::ChannelNotFound)?;
    let node = node(&state)?;
    audit::begin(&state).await?;
    node.close_channel(&id, force).await?;
    Ok(Json(Closing { status: "closing" }))
}
