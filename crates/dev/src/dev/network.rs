//! The Lightning network of `usher dev --embedded`: a chain, a liquidity provider, and a node from which the user pays.
//! Programs without the Cargo feature `embedded-lightning` have none.

#[cfg(feature = "embedded-lightning")]
mod node_handler;

#[cfg(feature = "embedded-lightning")]
use std::sync::Arc;

use usher::failure::Failure;

use super::environment::Payer;

/// The seed of the service's node. It is public, and its chain has no real money.
#[cfg(feature = "embedded-lightning")]
const MNEMONIC: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";

#[cfg(feature = "embedded-lightning")]
pub(super) struct DevNetwork(Arc<usher_lightning_network::Network>);

/// Not available.
#[cfg(not(feature = "embedded-lightning"))]
pub(super) enum DevNetwork {}

#[cfg(feature = "embedded-lightning")]
impl DevNetwork {
    /// Starts the network.
    ///
    /// # Errors
    /// If a part of it does not start.
    pub(super) async fn start() -> Result<Self, Failure> {
        let network = usher_lightning_network::Network::start().await.map_err(broke)?;
        Ok(Self(Arc::new(network)))
    }

    /// The configuration of the service's node.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let (chain, provider) = (self.0.chain.rpc(), &self.0.provider);
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

    pub(super) fn payer(&self) -> Payer {
        use self::node_handler::NodeHandler;

        (NodeHandler::capabilities(), Arc::new(NodeHandler::new(Arc::clone(&self.0))))
    }

    /// Mines blocks until that fails.
    pub(super) async fn keep_mining(&self) -> Failure {
        match self.0.keep_mining().await {
            Err(error) => broke(error),
            Ok(never) => match never {},
        }
    }

    pub(super) async fn stop(self) {
        // Stopping nodes blocks.
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

    pub(super) fn payer(&self) -> Payer {
        match *self {}
    }

    pub(super) async fn keep_mining(&self) -> Failure {
        match *self {}
    }

    pub(super) async fn stop(self) {
        match self {}
    }
}
