//! The Lightning node port: a node run by the service, from its operator's view.

use std::fmt;

use async_trait::async_trait;
use usher_protocol::bolt11::Network;

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

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeState {
    /// Its public key, in hex.
    pub node_id: String,
    /// Its network.
    pub network: Network,
    /// When it last processed the chain, in Unix seconds; `None` before the first time.
    pub synced_at: Option<u64>,
    /// The height of the last block that it has processed.
    pub height: u32,
    /// The numbers of usable and unusable channels.
    pub channels: ChannelCounts,
    /// The capacity of its channels, both sides together.
    pub capacity: u64,
    /// What it can send over its channels.
    pub outbound: u64,
    /// The largest payment that it can receive without a new channel.
    pub inbound: u64,
    /// Its on-chain balance, including unconfirmed transactions.
    pub on_chain: u64,
    /// The spendable part of it.
    pub on_chain_spendable: u64,
    /// The part reserved for closing channels.
    pub on_chain_reserved: u64,
    /// How many payments by the service are under way.
    pub payments_under_way: u64,
    /// Being paid out on chain from closed channels.
    pub closing: u64,
    /// Sent on chain by unconfirmed transactions, including fees.
    pub sending: u64,
    /// What liquidity providers have kept for opening channels, in all.
    pub skimmed_fees: u64,
    /// How many channels were closed, in all.
    pub closures: Closures,
    /// Warnings for its operator.
    pub warnings: Vec<NodeWarning>,
}

/// How many channels there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Those that can be used now.
    pub usable: usize,
    /// The others: not confirmed yet, or without a connection to the peer.
    pub unusable: usize,
}

/// How many channels were closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closures {
    /// With the peer's agreement.
    pub cooperative: u64,
    /// By one side alone (force-closed).
    pub forced: u64,
    /// The part of these that is due to a kill of this process between two writes.
    pub after_kill: u64,
}

/// A warning for the operator of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeWarning {
    /// The kind of warning.
    pub code: &'static str,
    /// The text of the warning.
    pub text: String,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its id, in hex.
    pub id: String,
    /// The peer's public key, in hex.
    pub peer: String,
    /// Where the peer was last reached.
    pub peer_address: Option<String>,
    /// The output that holds its money, as `<transaction id>:<index>`; `None` before its funding transaction exists.
    pub funding: Option<String>,
    /// Its capacity, both sides together.
    pub capacity: u64,
    /// What can be sent over it.
    pub outbound: u64,
    /// What can be received over it.
    pub inbound: u64,
    /// Whether the service opened it.
    pub opened_by_service: bool,
    /// Whether its funding transaction is confirmed, or the peer is trusted not to double-spend it.
    pub ready: bool,
    /// Whether payments can pass now.
    pub usable: bool,
}

/// What it costs to receive a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivingCost {
    /// Whether a channel must be opened.
    pub opens_channel: bool,
    /// The liquidity provider's deduction from the payment.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelOpening {
    /// The peer's public key, in hex.
    pub peer: String,
    /// Its state.
    pub state: OpeningState,
}

usher_protocol::words! {
    /// The state of an opening.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
