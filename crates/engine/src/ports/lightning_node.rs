//! The Lightning node port: a node that the service runs itself, as its operator sees and manages it.

use std::fmt;

use async_trait::async_trait;
use usher_protocol::bolt11::Network;

use super::IdempotencyKey;
use super::on_chain::{OnChainOrder, OnChainPrice, OnChainStatus, OnChainWish};
use crate::StreamId;

/// Shows the node and its channels, opens channels and closes them, and sends money on chain. All amounts are millisats. Only
/// [`receiving_cost`](Self::receiving_cost) and changes of channels ask anybody outside.
#[async_trait]
pub trait LightningNode: Send + Sync {
    /// The state of the node.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`].
    async fn state(&self) -> Result<NodeState, NodeError>;

    /// The channels that are open, or are being opened or closed with the peer's agreement.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`].
    async fn channels(&self) -> Result<Vec<Channel>, NodeError>;

    /// A new address to send bitcoin to. Earlier addresses stay valid.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`].
    async fn new_address(&self) -> Result<String, NodeError>;

    /// What it would cost now to receive a payment of `amount`.
    ///
    /// # Errors
    /// [`NodeError`]: it could not be received.
    async fn receiving_cost(&self, amount: u64) -> Result<ReceivingCost, NodeError>;

    /// Opens a channel with money of the node's on-chain balance. A repeated request with the same key opens no second
    /// one, also after a restart. The channel can be used after its funding transaction is confirmed.
    ///
    /// # Errors
    /// [`NodeError`]; nothing was spent.
    async fn open_channel(&self, wanted: &WantedChannel) -> Result<ChannelOpening, NodeError>;

    /// Closes a channel; its money returns to the on-chain balance. With `force`, without the peer's agreement: that takes
    /// longer and costs more. A channel that was closed before stays closed.
    ///
    /// # Errors
    /// [`NodeError`]; the channel stays open.
    async fn close_channel(&self, id: &str, force: bool) -> Result<(), NodeError>;

    /// What it would cost now to send money on chain. Changes nothing.
    ///
    /// # Errors
    /// [`NodeError`]: it could not be sent.
    async fn price_on_chain(&self, wish: &OnChainWish) -> Result<OnChainPrice, NodeError>;

    /// Sends money on chain, once for each [`OnChainOrder::id`]: makes the transaction, stores it, and publishes it in the
    /// background until it is in a block, also after a restart. A repeated order gets the state of its transaction.
    ///
    /// # Errors
    /// [`NodeError::Unavailable`]: perhaps it was stored, and the same order is to be repeated. With all others, nothing was sent and nothing
    /// will be.
    async fn send_on_chain(&self, order: &OnChainOrder) -> Result<OnChainStatus, NodeError>;

    /// The state of the transaction of an order; never sends. `None`: the node does not know it.
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
    /// The network it is on.
    pub network: Network,
    /// When it last processed the chain, in Unix seconds; none before the first time.
    pub synced_at: Option<u64>,
    /// The height of the last block that it has processed.
    pub height: u32,
    /// How many channels there are, and how many of them can be used now.
    pub channels: ChannelCounts,
    /// What its channels can hold on both sides.
    pub capacity: u64,
    /// What it can send over its channels.
    pub outbound: u64,
    /// The largest payment that it can receive without a new channel.
    pub inbound: u64,
    /// Its balance on the chain, unconfirmed transactions included.
    pub on_chain: u64,
    /// What of that it can spend.
    pub on_chain_spendable: u64,
    /// What of that it keeps for closing channels.
    pub on_chain_reserved: u64,
    /// How many payments by the service are under way.
    pub payments_under_way: u64,
    /// On the way from closed channels to the chain.
    pub closing: u64,
    /// Sent on chain, with fees, by transactions that are in no block yet.
    pub sending: u64,
    /// What liquidity providers have kept for opening channels, in all.
    pub skimmed_fees: u64,
    /// How many channels were closed, in all.
    pub closures: Closures,
    /// What its operator should know.
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
    /// By one side alone.
    pub forced: u64,
    /// Of those: because this process was killed between two writes.
    pub after_kill: u64,
}

/// What the operator of a node should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeWarning {
    /// What kind of warning it is, for programs.
    pub code: &'static str,
    /// The warning, for people.
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
    /// The output that holds its money, as `<transaction id>:<index>`; none before its funding transaction is made.
    pub funding: Option<String>,
    /// What it can hold on both sides.
    pub capacity: u64,
    /// What can be sent over it.
    pub outbound: u64,
    /// What can be received over it.
    pub inbound: u64,
    /// Whether the service opened it.
    pub opened_by_service: bool,
    /// Whether its funding transaction is confirmed, or the peer is trusted not to take it back.
    pub ready: bool,
    /// Whether payments can pass now.
    pub usable: bool,
}

/// What it costs to receive a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivingCost {
    /// Whether a channel must be opened.
    pub opens_channel: bool,
    /// What the liquidity provider would keep of the payment.
    pub opening_fee: u64,
}

/// A channel to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedChannel {
    /// The same for a repeated request; none if that cannot be told.
    pub key: Option<IdempotencyKey>,
    /// With whom, as `<node id>@<host>:<port>`; none for the liquidity provider.
    pub peer: Option<String>,
    /// Its capacity in millisats, a multiple of 1,000. All of it is the service's at first.
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

/// How far the opening of a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpeningState {
    /// It is being agreed on with the peer, or its funding transaction waits for confirmations.
    Opening,
    /// It is ready.
    Open,
    /// It was closed again, or the peer refused it and nothing was spent.
    Closed,
}

impl OpeningState {
    /// One word, as the HTTP interface says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// Why a node did not do it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The peer is not of the form `<node id>@<host>:<port>`, or none was named and no liquidity provider is configured.
    #[error("{0}")]
    InvalidPeer(String),
    /// The amount cannot be used: too small, or more than there is.
    #[error("{0}")]
    InvalidAmount(String),
    /// The address has another form, or is of another network.
    #[error("{0}")]
    InvalidAddress(String),
    /// The fee rate must be named, because none is known.
    #[error("{0}")]
    InvalidFeeRate(String),
    /// There is no such channel.
    #[error("there is no such channel")]
    ChannelNotFound,
    /// The node or a peer refused, or the peer cannot be reached.
    #[error("{0}")]
    Refused(String),
    /// The node does not run: it waits for its chain source, cannot write its data, or has stopped.
    #[error("the Lightning node does not run: {0}")]
    Unavailable(String),
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
