//! Waiting for the Lightning backend, so that the first payment has an invoice at once.

use std::time::Duration;

use usher_engine::Engine;

/// How long the start waits. Without the backend, an invoice comes later, and a warning is logged.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits for the Lightning backend; for a node, also until it has read the chain.
pub(super) async fn lightning(engine: &Engine) {
    let until_ready = async {
        while !is_ready(engine).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = tokio::time::timeout(TIMEOUT, until_ready).await;
}

async fn is_ready(engine: &Engine) -> bool {
    let is_connected = engine.lightning_status().is_none_or(|(_, status)| status.connected);
    is_connected
        && match engine.lightning_node() {
            Some(node) => node.state().await.is_ok_and(|state| state.synced_at.is_some()),
            None => true,
        }
}
