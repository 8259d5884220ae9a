//! The Lightning network of `usher dev --embedded`: a chain, a liquidity provider, and a node from which the user pays.
//! A program without the Cargo feature `embedded-lightning` has none.

use std::net::SocketAddr;
use std::path::Path;
#[cfg(feature = "embedded-lightning")]
use std::sync::Arc;

use usher_sandbox::dev::{DevEnvironment, DevError};

use crate::failure::Failure;

/// The seed of the service's node. Everybody knows it, and its chain has no money.
#[cfg(feature = "embedded-lightning")]
const MNEMONIC: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";

/// A running Lightning network on a chain of its own.
#[cfg(feature = "embedded-lightning")]
pub(super) struct DevNetwork {
    network: Arc<usher_lightning_network::Network>,
}

/// There is none.
#[cfg(not(feature = "embedded-lightning"))]
pub(super) enum DevNetwork {}

#[cfg(feature = "embedded-lightning")]
impl DevNetwork {
    /// Starts it.
    ///
    /// # Errors
    /// When a part of it does not start.
    pub(super) async fn start() -> Result<Self, Failure> {
        let network = usher_lightning_network::Network::start().await.map_err(broke)?;
        Ok(Self { network: Arc::new(network) })
    }

    /// The configuration of the service's node.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let (chain, provider) = (self.network.chain.rpc(), &self.network.provider);
        vec![
            ("SERVICE__WALLET__LN_BACKEND", "embedded".to_owned()),
            ("SERVICE__WALLET__EMBEDDED__MNEMONIC", MNEMONIC.to_owned()),
            ("SERVICE__WALLET__EMBEDDED__API_KEY", usher_lightning_network::Network::TOKEN.to_owned()),
            ("SERVICE__WALLET__EMBEDDED__LIQUIDITY_PROVIDER", format!("{}@{}", provider.id(), provider.address())),
            ("SERVICE__WALLET__EMBEDDED__BITCOIND__HOST", chain.host),
            ("SERVICE__WALLET__EMBEDDED__BITCOIND__PORT", chain.port.to_string()),
            ("SERVICE__WALLET__EMBEDDED__BITCOIND__RPC_USER", chain.user),
            ("SERVICE__WALLET__EMBEDDED__BITCOIND__RPC_PASSWORD", chain.password),
        ]
    }

    /// Relay and user, who pays from the network's node.
    ///
    /// # Errors
    /// [`DevError`].
    pub(super) async fn environment(&self, folder: &Path, relay: SocketAddr) -> Result<DevEnvironment, DevError> {
        DevEnvironment::start_on(folder, relay, Arc::clone(&self.network)).await
    }

    /// Mines blocks until that fails.
    pub(super) async fn keep_mining(&self) -> Failure {
        match self.network.keep_mining().await {
            Err(error) => broke(error),
            Ok(never) => match never {},
        }
    }

    /// Ends it.
    pub(super) async fn stop(self) {
        // Nodes block while they stop.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

#[cfg(feature = "embedded-lightning")]
fn broke(error: impl std::fmt::Display) -> Failure {
    Failure::said(format!("the Lightning network of --embedded does not run: {error}"))
}

#[cfg(not(feature = "embedded-lightning"))]
#[expect(clippy::unused_async, reason = "as with the feature")]
impl DevNetwork {
    pub(super) async fn start() -> Result<Self, Failure> {
        Err(Failure::said(
            "this program was built without the Cargo feature embedded-lightning, which --embedded needs; scripts/dev \
             --embedded builds it with it",
        ))
    }

    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        match *self {}
    }

    pub(super) async fn environment(&self, _folder: &Path, _relay: SocketAddr) -> Result<DevEnvironment, DevError> {
        match *self {}
    }

    pub(super) async fn keep_mining(&self) -> Failure {
        match *self {}
    }

    pub(super) async fn stop(self) {
        match self {}
    }
}
