use std::convert::Infallible;
use std::time::Duration;

use ldk_node::bitcoin::Amount;
use ldk_node::liquidity::LSPS2ServiceConfig;
use tempfile::TempDir;

use crate::chain_source::Chain;
use crate::peer::{Peer, until};

/// The file with the blocks of a network that was stopped.
const BLOCKS: &str = "blocks";

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
    pub chain: Chain,
    pub provider: Peer,
    /// A customer, with a channel to the provider.
    pub payer: Peer,
    folder: TempDir,
}

impl Network {
    /// The token that the provider asks for.
    pub const TOKEN: &str = "lsp-token";

    /// The largest payment for which the provider opens a channel, in millisats.
    pub const MAX_PAYMENT: u64 = 200_000_000;

    /// The smallest, in millisats.
    pub const MIN_PAYMENT: u64 = 1_000;

    /// Starts chain, provider and payer, and waits until the payer's channel can be used.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(Fees::default()).await
    }

    pub async fn start_with(fees: Fees) -> anyhow::Result<Self> {
        let chain = Chain::start().await?;
        chain.mine(1)?;
        let network = Self::start_peers(TempDir::new()?, chain, fees).await?;
        for peer in [&network.provider, &network.payer] {
            let address = peer.node().onchain_payment().new_address()?;
            network.chain.fund(&address, Amount::from_sat(50_000_000))?;
        }
        network.mine(6).await?;
        network.open_payer_channel().await?;
        Ok(network)
    }

    /// Starts the network that was [stopped](Self::stop) in this folder, or a copy of it.
    pub(crate) async fn start_again(folder: TempDir, fees: Fees) -> anyhow::Result<Self> {
        let chain = Chain::start_with(&std::fs::read(folder.path().join(BLOCKS))?).await?;
        let network = Self::start_peers(folder, chain, fees).await?;
        network.payer.connect(&network.provider).await?;
        network.until_payer_can_pay().await?;
        Ok(network)
    }

    async fn start_peers(folder: TempDir, chain: Chain, fees: Fees) -> anyhow::Result<Self> {
        let provider = Peer::start(&folder.path().join("provider"), &chain.rpc(), Some(service(fees))).await?;
        let payer = Peer::start(&folder.path().join("payer"), &chain.rpc(), None).await?;
        Ok(Self { chain, provider, payer, folder })
    }

    /// Stops everything; the folder with what [`start_again`](Self::start_again) needs.
    pub(crate) async fn stop(self) -> anyhow::Result<TempDir> {
        let Self { chain, provider, payer, folder } = self;
        // The addresses are others the next time.
        payer.forget(&provider).await?;
        provider.forget(&payer).await?;
        drop((payer, provider));
        std::fs::write(folder.path().join(BLOCKS), chain.encoded_blocks())?;
        Ok(folder)
    }

    /// Lets the nodes of the network process the chain.
    pub async fn sync(&self) -> anyhow::Result<()> {
        self.provider.sync().await?;
        self.payer.sync().await
    }

    /// Mines, and lets the nodes of the network process the blocks.
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
        self.until_payer_can_pay().await
    }

    async fn until_payer_can_pay(&self) -> anyhow::Result<()> {
        let usable = || (self.payer.usable_channels() > 0 && self.provider.usable_channels() > 0).then_some(());
        until("usable channel", usable).await
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
