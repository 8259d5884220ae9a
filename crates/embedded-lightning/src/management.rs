//! The adapter of the port `LightningNode`.

use std::sync::Arc;

use async_trait::async_trait;
use usher_engine::StreamId;
use usher_engine::ports::{
    Channel, ChannelOpening, LightningNode, NodeError, NodeState, OnChainOrder, OnChainPrice, OnChainStatus,
    OnChainWish, ReceivingCost, WantedChannel,
};

use crate::backend::{EmbeddedLightning, PROVIDER_TIME};
use crate::node_context::NodeContext;

impl EmbeddedLightning {
    async fn manage<T: Send + 'static>(
        &self,
        work: impl FnOnce(&NodeContext) -> Result<T, NodeError> + Send + 'static,
    ) -> Result<T, NodeError> {
        let broke = || NodeError::Unavailable("it broke; restart the service".to_owned());
        if self.inner.is_broken() {
            return Err(broke());
        }
        let inner = Arc::clone(&self.inner);
        self.handle.spawn_blocking(move || work(&inner)).await.unwrap_or_else(|_| Err(broke()))
    }

    /// The same, but only while the node runs.
    async fn manage_running<T: Send + 'static>(
        &self,
        work: impl FnOnce(&NodeContext) -> Result<T, NodeError> + Send + 'static,
    ) -> Result<T, NodeError> {
        if !self.inner.is_running() && !self.inner.is_broken() {
            let reason = "it waits for its chain source, or cannot write its data";
            return Err(NodeError::Unavailable(reason.to_owned()));
        }
        self.manage(work).await
    }
}

#[async_trait]
impl LightningNode for EmbeddedLightning {
    async fn state(&self) -> Result<NodeState, NodeError> {
        self.manage(|inner| inner.state().map_err(|error| NodeError::Unavailable(error.to_string()))).await
    }

    async fn channels(&self) -> Result<Vec<Channel>, NodeError> {
        self.manage(|inner| Ok(inner.channels())).await
    }

    async fn new_address(&self) -> Result<String, NodeError> {
        self.manage_running(|inner| {
            let address = inner.node().onchain_payment().new_address();
            address.map(|address| address.to_string()).map_err(|error| NodeError::Unavailable(error.to_string()))
        })
        .await
    }

    async fn receiving_cost(&self, amount: u64) -> Result<ReceivingCost, NodeError> {
        let asking = self.manage_running(move |inner| inner.receiving_cost(amount));
        let slow = || NodeError::Refused("the liquidity provider does not answer".to_owned());
        tokio::time::timeout(PROVIDER_TIME, asking).await.unwrap_or_else(|_| Err(slow()))
    }

    async fn open_channel(&self, wanted: &WantedChannel) -> Result<ChannelOpening, NodeError> {
        let wanted = wanted.clone();
        self.manage_running(move |inner| inner.open_channel(&wanted)).await
    }

    async fn close_channel(&self, id: &str, force: bool) -> Result<(), NodeError> {
        let id = id.to_owned();
        self.manage_running(move |inner| inner.close_channel(&id, force)).await
    }

    async fn price_on_chain(&self, wish: &OnChainWish) -> Result<OnChainPrice, NodeError> {
        let wish = wish.clone();
        self.manage_running(move |inner| inner.price_on_chain(&wish)).await
    }

    async fn send_on_chain(&self, order: &OnChainOrder) -> Result<OnChainStatus, NodeError> {
        let order = order.clone();
        self.manage_running(move |inner| inner.send_on_chain(&order)).await
    }

    async fn look_up_on_chain(&self, order: StreamId) -> Result<Option<OnChainStatus>, NodeError> {
        self.manage(move |inner| inner.look_up_on_chain(order)).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tempfile::TempDir;
    use usher_engine::ports::{Lightning as _, LightningError, SystemClock};
    use usher_protocol::message::PaymentHash;

    use super::*;
    use crate::testing::options;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_node_that_has_panicked_is_not_called_any_more() {
        let network = usher_lightning_network::Network::start_copy().await.unwrap();
        let folder = TempDir::new().unwrap();
        let options = options(&network, folder.path());
        let (backend, _notifications) = EmbeddedLightning::start(options, Arc::new(SystemClock)).await.unwrap();
        while !backend.status().connected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Simulates a panic in one of the library's tasks.
        assert!(backend.handle.spawn(async { panic!("on purpose") }).await.is_err());
        assert!(!backend.status().connected);
        assert!(matches!(backend.state().await, Err(NodeError::Unavailable(reason)) if reason.contains("restart")));
        let looked_up = backend.look_up_invoice(PaymentHash::from_bytes([1; 32])).await;
        assert!(matches!(looked_up, Err(LightningError::Unknown(_))), "{looked_up:?}");
        backend.stop().await;
    }
}
