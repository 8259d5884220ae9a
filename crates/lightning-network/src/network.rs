use std::convert::Infallible;
use std::time::Duration;

use ldk_node::bitcoin::Amount;
use ldk_node::liquidity::LSPS2ServiceConfig;
use tempfile::TempDir;

use crate::chain_source::Chain;
use crate::peer::{Peer, until};

/// The time between blocks that come by themselves.
const BLOCK_INTERVAL: Duration = Duration::from_secs(10);

/// What the provider takes for a channel that it opens for an incoming payment.
#[derive(Clone, Copy, Debug)]
pub struct Fees {
    /// At least so many millisats.
    pub minimum: u64,
    /// Parts per million of the payment.
    pub proportional: u32,
}

impl Default for Fees {
    fn default() -> Self {
        Self { minimum: 2_000_000, proportional: 10_000 }
    }
}

/// A whole Lightning network, but for the node under test.
pub struct Network {
    /// The chain.
    pub chain: Chain,
    /// The liquidity provider.
    pub provider: Peer,
    /// A customer, with a channel to the provider.
    pub payer: Peer,
    _folder: TempDir,
}

impl Network {
    /// The token that the provider asks for.
    pub const TOKEN: &str = "lsp-token";

    /// The largest payment for which the provider opens a channel, in millisats.
    pub const MAX_PAYMENT: u64 = 200_000_000;

    /// The smallest, in millisats.
    pub const MIN_PAYMENT: u64 = 1_000;

    /// Starts chain, provider and payer, and waits until the payer's channel can be used.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(Fees::default()).await
    }

    /// The same, with other fees.
    pub async fn start_with(fees: Fees) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let chain = Chain::start().await?;
        chain.mine(1)?;
        let provider = Peer::start(&folder.path().join("provider"), &chain.rpc(), Some(service(fees))).await?;
        let payer = Peer::start(&folder.path().join("payer"), &chain.rpc(), None).await?;
        for peer in [&provider, &payer] {
            let address = peer.node().onchain_payment().new_address()?;
            chain.fund(&address, Amount::from_sat(50_000_000))?;
        }
        chain.mine(6)?;
        let network = Self { chain, provider, payer, _folder: folder };
        network.sync().await?;
        network.open_payer_channel().await?;
        Ok(network)
    }

    /// Lets the nodes of the network process the chain.
    ///
    /// # Errors
    /// If the chain cannot be reached.
    pub async fn sync(&self) -> anyhow::Result<()> {
        self.provider.sync().await?;
        self.payer.sync().await
    }

    /// Mines, and lets the nodes of the network process the blocks.
    ///
    /// # Errors
    /// If a block cannot be made or processed.
    pub async fn mine(&self, blocks: usize) -> anyhow::Result<()> {
        self.chain.mine(blocks)?;
        self.sync().await
    }

    /// Mines a block every ten seconds, as long as it is polled: what is sent to the chain confirms by itself.
    pub async fn keep_mining(&self) -> anyhow::Result<Infallible> {
        let mut due = tokio::time::interval(BLOCK_INTERVAL);
        loop {
            due.tick().await;
            self.chain.mine(1)?;
        }
    }

    /// A channel from the payer with money on both sides.
    async fn open_payer_channel(&self) -> anyhow::Result<()> {
        let (node, id, address) = (self.payer.node().clone(), self.provider.id(), self.provider.address());
        tokio::task::spawn_blocking(move || node.open_channel(id, address, 10_000_000, Some(4_000_000_000), None))
            .await??;
        until("funding transaction", || (self.chain.unconfirmed() > 0).then_some(())).await?;
        self.mine(6).await?;
        until("usable channel", || (self.payer.usable_channels() > 0).then_some(())).await
    }
}

fn service(fees: Fees) -> LSPS2ServiceConfig {
    LSPS2ServiceConfig {
        require_token: Some(Network::TOKEN.to_owned()),
        advertise_service: false,
        channel_opening_fee_ppm: fees.proportional,
        channel_over_provisioning_ppm: 1_000_000,
        min_channel_opening_fee_msat: fees.minimum,
        min_channel_lifetime: 1_000,
        max_client_to_self_delay: 1_024,
        min_payment_size_msat: Network::MIN_PAYMENT,
        max_payment_size_msat: Network::MAX_PAYMENT,
        client_trusts_lsp: false,
    }
}
