//! The node with what its parts share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ldk_node::Node;
use parking_lot::Mutex;
use tokio::sync::watch;
use usher_engine::ports::Clock;
use usher_protocol::bolt11::Network;

use crate::generation::Generation;
use crate::options::LiquidityProvider;
use crate::store::Store;

/// How old the node's knowledge of the chain may be, in seconds. Beyond that it could not defend a payment.
pub(crate) const OLDEST_SYNC: u64 = 3600;

/// The node and what belongs to it.
pub(crate) struct SharedNode {
    pub(crate) node: Arc<Node>,
    pub(crate) store: Arc<Store>,
    pub(crate) generation: Generation,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) network: Network,
    pub(crate) max_fee_percent: u64,
    pub(crate) max_opening_fee_percent: u64,
    pub(crate) provider: Option<LiquidityProvider>,
    /// Held while a channel is opened.
    pub(crate) opening: Mutex<()>,
    pub(crate) started: AtomicBool,
    /// Held from the look at the inbound capacity until an invoice that needs it is recorded.
    pub(crate) reserving: Mutex<()>,
    /// Changes with each payment by the service that ends.
    pub(crate) outcomes: watch::Sender<u64>,
}

impl SharedNode {
    /// Unix seconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().secs()
    }

    /// The most, in millisats, that the provider may keep of a payment for opening a channel.
    pub(crate) fn opening_fee_limit(&self, amount: u64) -> u64 {
        amount / 100 * self.max_opening_fee_percent
    }

    /// Whether the node runs and can store what it does.
    pub(crate) fn is_running(&self) -> bool {
        self.started.load(Ordering::Acquire) && !self.store.has_failed()
    }
}
