//! The adapter of the port `LightningNode`.

use std::sync::Arc;

use async_trait::async_trait;
use usher_engine::ports::{Channel, ChannelOpening, LightningNode, NodeError, NodeState, ReceivingCost, WantedChannel};

use crate::backend::EmbeddedLightning;
use crate::shared_node::SharedNode;

impl EmbeddedLightning {
    /// Runs blocking work of the node on its own runtime.
    async fn manage<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SharedNode) -> Result<T, NodeError> + Send + 'static,
    ) -> Result<T, NodeError> {
        let inner = Arc::clone(&self.inner);
        let done = self.handle.spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|_| Err(NodeError::Unavailable("it broke".to_owned())))
    }

    /// The same, only while the node runs.
    async fn manage_running<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SharedNode) -> Result<T, NodeError> + Send + 'static,
    ) -> Result<T, NodeError> {
        if !self.inner.is_running() {
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
            let address = inner.node.onchain_payment().new_address();
            address.map(|address| address.to_string()).map_err(|error| NodeError::Unavailable(error.to_string()))
        })
        .await
    }

    async fn receiving_cost(&self, amount: u64) -> Result<ReceivingCost, NodeError> {
        self.manage_running(move |inner| inner.receiving_cost(amount)).await
    }

    async fn open_channel(&self, wanted: &WantedChannel) -> Result<ChannelOpening, NodeError> {
        let wanted = wanted.clone();
        self.manage_running(move |inner| inner.open_channel(&wanted)).await
    }

    async fn close_channel(&self, id: &str, force: bool) -> Result<(), NodeError> {
        let id = id.to_owned();
        self.manage_running(move |inner| inner.close_channel(&id, force)).await
    }
}
