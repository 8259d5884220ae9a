//! `POST /wallet/channels`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::PendingAudit;
use usher_engine::ports::{ChannelOpening, NodeError, WantedChannel};
use usher_engine::request_body;
use usher_engine::request_body::{Millisats, OneLine};

use super::node;
use crate::ApiState;
use crate::audit;
use crate::body;
use crate::idempotency::IdempotencyContext;
use crate::problem::Problem;

request_body! {
    /// A channel to open.
    pub(crate) struct Body, BodyDraft = "OpenChannelRequest", example { "amount": 100000000 } {
        /// Its capacity in millisats, a multiple of 1,000. All of it is on the service's side at first.
        amount: Millisats,
        /// With whom: `<node id>@<host>:<port>`. The default is `wallet.embedded.liquidity_provider`.
        peer: Option<OneLine<512>>,
    }
}

/// Opens a channel with money of the node's on-chain balance.
///
/// For payments by the service: users' payments open channels without this request, for a fee that
/// `POST /wallet/receiving-cost` tells. The miner fee of the funding transaction comes on top of the amount: the
/// transaction has about 153 virtual bytes, and 68 more for each coin that is spent beyond the first. Send an
/// `Idempotency-Key`: the same request with the same key opens one channel, also after a crash. Waits for the
/// connection to the peer, not for the chain.
#[utoipa::path(
    post,
    path = "/wallet/channels",
    request_body = Body,
    responses(
        (status = 200, description = "The channel is being opened, or was opened by an earlier request with the same \
            key.", body = ChannelOpening),
        (status = 422, description = "`invalid_request`: Some fields are wrong, or the node cannot spend that much \
            (`/amount`)."),
        (status = 502, description = "`wallet_error`: The node does not run, or the peer cannot be reached or refuses, or \
            the node has not seen the funding transaction of another channel on the chain yet: then repeat the request in \
            a minute. Nothing was spent."),
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is not `embedded`."),
    ),
)]
pub(crate) async fn open_channel(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(Body { amount, peer }): body::Json<Body>,
) -> Result<Json<ChannelOpening>, Problem> {
    let node = node(&state)?;
    if amount % 1000 != 0 {
        return Err(NodeError::InvalidAmount("must be a multiple of 1000: channels hold whole sats".to_owned()).into());
    }
    PendingAudit::add_detail("amount_millisats", amount);
    let key = idempotency.map(|Extension(idempotency)| idempotency.key());
    audit::begin(&state).await?;
    Ok(Json(node.open_channel(&WantedChannel { key, peer, amount }).await?))
}
