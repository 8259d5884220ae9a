//! `GET /wallet/channels`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::node::node;
use crate::ApiState;
use crate::problem::Problem;

/// The channels of the node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Channels)]
pub(crate) struct Response {
    channels: Vec<Channel>,
}

/// A channel. All amounts are millisats.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Channel, example = json!({
    "channel_id": "0001020304050607080900010203040506070809000102030405060708090102",
    "peer": "02eec7245d6b7d2ccb30380bfbe2a3648cd7a942653f5aa340edcea1f283686619",
    "peer_address": "203.0.113.7:9735",
    "funding": "0001020304050607080900010203040506070809000102030405060708090102:0",
    "capacity": 100000000,
    "outbound": 48000000,
    "inbound": 50000000,
    "opened_by_service": false,
    "ready": true,
    "usable": true,
}))]
pub(crate) struct Channel {
    /// Its id.
    channel_id: String,
    /// The peer's public key.
    peer: String,
    /// Where the peer was last reached.
    #[schema(required = true)]
    peer_address: Option<String>,
    /// The output that holds its money: `<transaction id>:<index>`; `null` before its funding transaction is made.
    #[schema(required = true)]
    funding: Option<String>,
    /// What both sides hold together.
    capacity: u64,
    /// What can be sent over it.
    outbound: u64,
    /// What can be received over it.
    inbound: u64,
    /// Whether the service opened it; otherwise the peer did.
    opened_by_service: bool,
    /// Whether its funding transaction is confirmed, or the service trusts the peer not to take it back.
    ready: bool,
    /// Whether payments can pass now.
    usable: bool,
}

impl From<usher_engine::ports::Channel> for Channel {
    fn from(channel: usher_engine::ports::Channel) -> Self {
        Self {
            channel_id: channel.id,
            peer: channel.peer,
            peer_address: channel.peer_address,
            funding: channel.funding,
            capacity: channel.capacity,
            outbound: channel.outbound,
            inbound: channel.inbound,
            opened_by_service: channel.opened_by_service,
            ready: channel.ready,
            usable: channel.usable,
        }
    }
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
    let channels = node(&state)?.channels().await?;
    Ok(Json(Response { channels: channels.into_iter().map(Channel::from).collect() }))
}
