//! The node and the state that its parts share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ldk_node::bitcoin::bip32::Xpriv;
use ldk_node::bitcoin::secp256k1::PublicKey;
use ldk_node::{BalanceDetails, ChannelDetails, Node};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};
use usher_engine::ports::Clock;
use usher_protocol::bolt11::Network;

use crate::fee_rate::FeeRateEstimate;
use crate::node::CLOSING_RESERVE;
use crate::options::LiquidityProvider;
use crate::panic_flag::PanicGuard;
use crate::rollback_guard::Generation;
use crate::store::Store;

/// Maximum age of the node's view of the chain, in seconds. With an older one it could not defend a payment.
pub(crate) const OLDEST_SYNC: u64 = 3600;

pub(crate) struct NodeContext {
    /// A draft until the chain source answers (`node.rs`).
    pub(crate) node: RwLock<Arc<Node>>,
    pub(crate) guard: PanicGuard,
    pub(crate) store: Arc<Store>,
    pub(crate) generation: Generation,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) network: Network,
    pub(crate) max_fee_percent: u64,
    pub(crate) max_opening_fee_percent: u64,
    pub(crate) provider: Option<LiquidityProvider>,
    /// Whether the node itself publishes closing transactions of channels with the provider.
    pub(crate) closes_alone: bool,
    /// Held while the library builds the node, which needs its threads.
    pub(crate) building: Mutex<()>,
    /// Held while a channel is opened or money is sent on chain.
    pub(crate) spending: Mutex<()>,
    /// The root of the on-chain wallet's keys.
    pub(crate) root: Xpriv,
    pub(crate) fee_rate: FeeRateEstimate,
    /// Signals a transaction to publish.
    pub(crate) to_publish: Notify,
    pub(crate) started: AtomicBool,
    /// Held from reading the inbound capacity until the invoice that needs it is recorded.
    pub(crate) reserving: Mutex<()>,
    /// Changes whenever an outgoing payment ends.
    pub(crate) outcomes: watch::Sender<u64>,
}

impl NodeContext {
    pub(crate) fn node(&self) -> Arc<Node> {
        Arc::clone(&self.node.read())
    }

    /// Unix seconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().secs()
    }

    /// The most, in millisats, that the provider may deduct from a payment for opening a channel.
    pub(crate) fn opening_fee_limit(&self, amount: u64) -> u64 {
        amount / 100 * self.max_opening_fee_percent
    }

    pub(crate) fn is_provider(&self, peer: &PublicKey) -> bool {
        self.provider.as_ref().is_some_and(|provider| provider.node_id == *peer)
    }

    /// On-chain reserve for closing channels with peers other than the provider, in sats.
    pub(crate) fn kept(&self, channels: &[ChannelDetails], balance: u64) -> u64 {
        let others = channels.iter().filter(|channel| !self.is_provider(&channel.counterparty_node_id)).count();
        (CLOSING_RESERVE * others as u64).min(balance)
    }

    /// The spendable on-chain balance, and the reserve for closing channels with peers other than the provider, in
    /// sats. The library keeps no reserve if all channels are with the provider.
    pub(crate) fn on_chain(&self, balances: &BalanceDetails, channels: &[ChannelDetails]) -> (u64, u64) {
        let kept = self.kept(channels, balances.total_onchain_balance_sats);
        let not_yet = kept.saturating_sub(balances.total_anchor_channels_reserve_sats);
        (balances.spendable_onchain_balance_sats.saturating_sub(not_yet), kept)
    }

    /// Whether the node runs and can store its state.
    pub(crate) fn is_running(&self) -> bool {
        self.started.load(Ordering::Acquire) && !self.store.has_failed() && !self.is_broken()
    }

    /// Whether the library has panicked; it must not be called then.
    pub(crate) fn is_broken(&self) -> bool {
        self.guard.has_panicked()
    }
}
