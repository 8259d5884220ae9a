//! The Lightning network around a service with a node of its own: chain, liquidity provider, payer.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;
use usher_lightning_network::Network;

/// What the nodes of the network run on: they block threads, and this program has one.
const THREADS: usize = 2;

/// A Lightning network with threads of its own.
pub(crate) struct ChannelNetwork {
    network: Option<Arc<Network>>,
    runtime: Option<Runtime>,
}

impl ChannelNetwork {
    pub(crate) async fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
        let network = runtime.spawn(Network::start()).await??;
        Ok(Self { network: Some(Arc::new(network)), runtime: Some(runtime) })
    }

    /// What the service needs to know of it.
    pub(crate) fn variables(&self) -> Result<Vec<(&'static str, String)>> {
        let network = self.network.as_ref().context("the network has ended")?;
        let (chain, provider) = (network.chain.rpc(), &network.provider);
        Ok(vec![
            ("SERVICE__WALLET__LN_BACKEND", "embedded".to_owned()),
            ("SERVICE__WALLET__NETWORK", "regtest".to_owned()),
            ("SERVICE__WALLET__EMBEDDED__MNEMONIC", "abandon ".repeat(11) + "about"),
            ("SERVICE__WALLET__EMBEDDED__API_KEY", Network::TOKEN.to_owned()),
            ("SERVICE__WALLET__EMBEDDED__LIQUIDITY_PROVIDER", format!("{}@{}", provider.id(), provider.address())),
            ("SERVICE__WALLET__EMBEDDED__BITCOIND__HOST", chain.host),
            ("SERVICE__WALLET__EMBEDDED__BITCOIND__PORT", chain.port.to_string()),
            ("SERVICE__WALLET__EMBEDDED__BITCOIND__RPC_USER", chain.user),
            ("SERVICE__WALLET__EMBEDDED__BITCOIND__RPC_PASSWORD", chain.password),
        ])
    }

    /// Opens channels of so many sats to the service, which must run.
    pub(crate) async fn open_channels(&self, count: usize, capacity: u64) -> Result<()> {
        let network = Arc::clone(self.network.as_ref().context("the network has ended")?);
        let runtime = self.runtime.as_ref().context("the network has ended")?;
        runtime.spawn(async move { network.open_channels(count, capacity).await }).await?
    }
}

impl Drop for ChannelNetwork {
    fn drop(&mut self) {
        let (network, runtime) = (self.network.take(), self.runtime.take());
        // Both block, which a thread of a runtime must not.
        let stopping = std::thread::spawn(move || {
            drop(network);
            if let Some(runtime) = runtime {
                runtime.shutdown_background();
            }
        });
        let _ = stopping.join();
    }
}
