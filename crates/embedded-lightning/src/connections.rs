//! Keeps the node connected to its peers. The library retries once a minute, too rarely for a waiting customer.

use std::sync::Arc;
use std::time::Duration;

use ldk_node::Node;
use ldk_node::bitcoin::secp256k1::PublicKey;
use ldk_node::lightning::ln::msgs::SocketAddress;

use crate::options::LiquidityProvider;

/// The first pause after a connection was lost.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause while a peer is unreachable.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Connects to the provider and the peers of channels whenever they are disconnected.
pub(crate) async fn keep(node: Arc<Node>, provider: Option<LiquidityProvider>) {
    let mut pause = MIN_PAUSE;
    loop {
        let (connecting, provider) = (Arc::clone(&node), provider.clone());
        let reached = tokio::task::spawn_blocking(move || connect_all(&connecting, provider.as_ref())).await;
        pause = match reached {
            Ok(true) => MIN_PAUSE,
            Ok(false) => (pause * 2).min(MAX_PAUSE),
            // The library panicked; there is nothing to connect.
            Err(_) => return,
        };
        tokio::time::sleep(pause).await;
    }
}

/// Whether all peers are connected. Blocks.
fn connect_all(node: &Node, provider: Option<&LiquidityProvider>) -> bool {
    missing(node, provider).into_iter().all(|(id, address)| node.connect(id, address, true).is_ok())
}

fn missing(node: &Node, provider: Option<&LiquidityProvider>) -> Vec<(PublicKey, SocketAddress)> {
    let peers = node.list_peers();
    let new = provider.filter(|provider| peers.iter().all(|peer| peer.node_id != provider.node_id));
    let lost = peers.iter().filter(|peer| peer.is_persisted && !peer.is_connected);
    lost.map(|peer| (peer.node_id, peer.address.clone()))
        .chain(new.map(|provider| (provider.node_id, provider.address.clone())))
        .collect()
}
