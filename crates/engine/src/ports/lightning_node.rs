//! The Lightning node port: a node run by the service, from its operator's view.

use async_trait::async_trait;
use serde::Serialize;
use usher_protocol::bolt11::Network;
use utoipa::ToSchema;

use super::IdempotencyKey;
use super::on_chain::{OnChainOrder, OnChainPrice, OnChainStatus, OnChainWish};
use crate::StreamId;

/// Shows the node and its channels, opens and closes channels, and sends money on chain. All amounts are millisats.
/// Only [`receiving_cost`](Self::receiving_cost) and changes of channels contact others.
#[async_trait]
pub trait LightningNode: Send + Sync {
    /// The state of the node.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`].
    async fn state(&self) -> Result<NodeState, NodeError>;

    /// The channels that are open, or being opened or cooperatively closed.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`].
    async fn channels(&self) -> Result<Vec<Channel>, NodeError>;

    /// A new address to send bitcoin to. Earlier addresses stay valid.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`].
    async fn new_address(&self) -> Result<String, NodeError>;

    /// The current cost of receiving a payment of `amount`.
    ///
    /// # Errors
    /// [`NodeError`] if it could not be received.
    async fn receiving_cost(&self, amount: u64) -> Result<ReceivingCost, NodeError>;

    /// Opens a channel from the node's on-chain balance. A repeated request with the same key opens no second one, even
    /// after a restart. The channel is usable once its funding transaction is confirmed.
    ///
    /// # Errors
    /// [`NodeError`]; nothing was spent.
    async fn open_channel(&self, wanted: &WantedChannel) -> Result<ChannelOpening, NodeError>;

    /// Closes a channel; its money returns to the on-chain balance. With `force`, without the peer's agreement, which
    /// takes longer and costs more. Closing a closed channel changes nothing.
    ///
    /// # Errors
    /// [`NodeError`]; the channel stays open.
    async fn close_channel(&self, id: &str, force: bool) -> Result<(), NodeError>;

    /// The current cost of sending money on chain. Changes nothing.
    ///
    /// # Errors
    /// [`NodeError`] if it could not be sent.
    async fn price_on_chain(&self, wish: &OnChainWish) -> Result<OnChainPrice, NodeError>;

    /// Sends money on chain, once per [`OnChainOrder::id`]: creates the transaction, stores it, and publishes it in the
    /// background until it is in a block, also after a restart. A repeated order returns the state of its transaction.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`]: it may have been stored, so the same order must be repeated. With all others,
    /// nothing was or will be sent.
    async fn send_on_chain(&self, order: &OnChainOrder) -> Result<OnChainStatus, NodeError>;

    /// The state of an order's transaction; never sends. `None` if unknown to the node.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`].
    async fn look_up_on_chain(&self, order: StreamId) -> Result<Option<OnChainStatus>, NodeError>;
}

/// The state of the Lightning node that the service runs itself. All amounts are millisats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LightningNode)]
pub struct NodeState {
    /// Its public key.
    #[schema(example = "02eec7245d6b7d2ccb30380bfbe2a3648cd7a942653f5aa340edcea1f283686619")]
    pub node_id: String,
    /// Its network.
    #[serde(skip)]
    pub network: Network,
    /// When it last processed the chain, in Unix seconds; `null` before the first time.
    #[schema(required = true, example = 1732137600)]
    pub synced_at: Option<u64>,
    /// The height of the last block that it has processed.
    #[schema(example = 870000)]
    pub height: u32,
    /// Its channels (`GET /wallet/channels`).
    pub channels: NodeChannels,
    /// What it can send over its channels.
    #[serde(skip)]
    pub outbound: u64,
    /// The largest payment that it can receive without a new channel.
    #[schema(example = 50000000)]
    pub inbound: u64,
    /// Its balance on the chain.
    pub on_chain: NodeOnChain,
    /// What is on its way.
    pub pending: NodePending,
    /// What liquidity providers have kept for opening channels, in all.
    #[schema(example = 2000000)]
    pub skimmed_fees: u64,
    /// How many channels were closed, in all.
    pub closures: Closures,
    /// What the operator should know.
    pub warnings: Vec<NodeWarning>,
}

/// How many channels there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LightningNodeChannels)]
pub struct NodeChannels {
    /// Those that can be used now.
    #[schema(example = 1)]
    pub usable: usize,
    /// The others: not confirmed yet, or without a connection to the peer.
    #[schema(example = 0)]
    pub unusable: usize,
    /// What all channels hold on both sides.
    #[schema(example = 100000000)]
    pub capacity: u64,
}

/// A balance on the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LightningNodeOnChain)]
pub struct NodeOnChain {
    /// All of it, unconfirmed transactions included.
    #[schema(example = 30000000)]
    pub total: u64,
    /// What the node can spend.
    #[schema(example = 5000000)]
    pub spendable: u64,
    /// What the node keeps for closing channels.
    #[schema(example = 25000000)]
    pub reserved: u64,
}

/// What is on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LightningNodePending)]
pub struct NodePending {
    /// How many payments by the service are under way.
    #[schema(example = 0)]
    pub payments: u64,
    /// Millisats on their way from closed channels to the chain.
    #[schema(example = 0)]
    pub closing: u64,
    /// Millisats, fees included, that are sent on chain by transactions in no block yet: no part of the balance any more.
    #[schema(example = 0)]
    pub sending: u64,
}

/// How many channels were closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LightningNodeClosures)]
pub struct Closures {
    /// With the peer's agreement.
    #[schema(example = 0)]
    pub cooperative: u64,
    /// By one side alone.
    #[schema(example = 0)]
    pub forced: u64,
    /// Of those: because the service was killed between two writes.
    #[schema(example = 0)]
    pub after_kill: u64,
}

/// What the operator should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LightningNodeWarning)]
pub struct NodeWarning {
    /// For programs: `not_running`, `not_synced`, `provider_away`, `cannot_receive`, `low_inbound`, `forced_closure` or
    /// `cannot_close`. Later versions may add codes.
    #[schema(example = "low_inbound")]
    pub code: &'static str,
    /// For people.
    #[schema(example = "the channels can receive 1000000 msat in one payment: …")]
    pub text: String,
}

/// A channel. All amounts are millisats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
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
pub struct Channel {
    /// Its id; a temporary one while `funding` is `null`.
    #[serde(rename = "channel_id")]
    pub id: String,
    /// The peer's public key.
    pub peer: String,
    /// Where the peer was last reached.
    #[schema(required = true)]
    pub peer_address: Option<String>,
    /// The output that holds its money: `<transaction id>:<index>`; `null` before its funding transaction is made.
    #[schema(required = true)]
    pub funding: Option<String>,
    /// What both sides hold together.
    pub capacity: u64,
    /// What can be sent over it.
    pub outbound: u64,
    /// What can be received over it.
    pub inbound: u64,
    /// Whether the service opened it; otherwise the peer did.
    pub opened_by_service: bool,
    /// Whether its funding transaction is confirmed, or the service trusts the peer not to take it back.
    pub ready: bool,
    /// Whether payments can pass now.
    pub usable: bool,
}

/// What it costs to receive a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReceivingCost {
    /// Whether the liquidity provider would open a channel for it.
    #[schema(example = true)]
    pub opens_channel: bool,
    /// What the provider would keep of the payment for that, in millisats.
    #[schema(example = 2000000)]
    pub opening_fee: u64,
}
/// A channel to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedChannel {
    /// The idempotency key of the request, if any.
    pub key: Option<IdempotencyKey>,
    /// The peer, as `<node id>@<host>:<port>`; `None` for the liquidity provider.
    pub peer: Option<String>,
    /// Its capacity in millisats, a multiple of 1,000, initially all on the service's side.
    pub amount: u64,
}

/// A channel that was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChannelOpening {
    /// The peer's public key.
    #[schema(example = "02eec7245d6b7d2ccb30380bfbe2a3648cd7a942653f5aa340edcea1f283686619")]
    pub peer: String,
    /// `opening` until the funding transaction is confirmed, then `open`; `closed` if it was closed again, or the peer
    /// refused it.
    #[serde(rename = "status")]
    #[schema(value_type = String, pattern = "^(opening|open|closed)$", example = "opening")]
    pub state: OpeningState,
}

usher_protocol::words! {
    /// The state of an opening.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OpeningState {
        /// Being negotiated with the peer, or waiting for confirmations.
        Opening = "opening",
        /// It is ready.
        Open = "open",
        /// Closed again, or refused by the peer before anything was spent.
        Closed = "closed",
    }
}

/// Why a request to the node failed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The peer is not of the form `<node id>@<host>:<port>`, or is missing without a configured liquidity provider.
    #[error("{0}")]
    InvalidPeer(String),
    /// The amount is invalid: too small, or more than available.
    #[error("{0}")]
    InvalidAmount(String),
    /// The address has another form, or is of another network.
    #[error("{0}")]
    InvalidAddress(String),
    /// A fee rate is required, because none is known.
    #[error("{0}")]
    InvalidFeeRate(String),
    /// There is no such channel.
    #[error("there is no such channel")]
    ChannelNotFound,
    /// The node or a peer refused, or the peer is unreachable.
    #[error("{0}")]
    Refused(String),
    /// The node is not running: it waits for its chain source, cannot write its data, or has stopped.
    #[error("the Lightning node does not run: {0}")]
    Unavailable(String),
}

usher_protocol::debug_shows!(NodeError as Display);
