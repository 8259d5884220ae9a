//! How the node is set up.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use ldk_node::bip39::Mnemonic;
use ldk_node::bitcoin::bip32::Xpriv;
use ldk_node::bitcoin::hashes::{Hash as _, HashEngine as _, sha256};
use ldk_node::bitcoin::secp256k1::PublicKey;
use ldk_node::lightning::ln::msgs::SocketAddress;
use usher_engine::ports::SettingStore;
use usher_protocol::bolt11::Network;

/// How many bytes of a digest tell one seed from another.
const FINGERPRINT: usize = 8;

/// How the node is set up. `Debug` shows no secret.
pub struct Options {
    /// Where it stores its data; created if it does not exist. Nothing else may use it.
    pub folder: PathBuf,
    /// The network of invoices and channels.
    pub network: Network,
    /// The seed: an English BIP-39 mnemonic.
    pub mnemonic: String,
    /// Where it learns of blocks.
    pub chain: ChainSource,
    /// Who opens channels for incoming payments.
    pub provider: Option<LiquidityProvider>,
    /// The largest routing fee of a payment, in percent of its amount.
    pub max_fee_percent: u64,
    /// The most that the provider may keep of a payment for opening a channel, in percent of its amount.
    pub max_opening_fee_percent: u64,
    /// Asks the chain source where its chain ends before the node is built and for fee rates, and publishes transactions again;
    /// without, none of that is done.
    pub chain_access: Option<Arc<dyn ChainAccess>>,
    /// Whether a new node looks for the mnemonic's money in the whole chain. One with an Esplora server always does.
    pub recover: bool,
    /// Where the service stores which copy of the data is the newest; without, an old copy is not recognised.
    pub settings: Option<Arc<dyn SettingStore>>,
}

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The network that it is of.
    pub network: Network,
    /// The height of its last block.
    pub height: u32,
}

/// What is asked of the chain source beside what the library asks.
#[async_trait]
pub trait ChainAccess: Send + Sync {
    /// The end of the chain.
    ///
    /// # Errors
    /// Why the chain source cannot be used, in words for the operator and without secrets.
    async fn tip(&self) -> Result<Tip, String>;

    /// Publishes a transaction, in the form of the chain. One that the chain source has already is fine.
    ///
    /// # Errors
    /// Why the chain source does not take it, in words for the operator and without secrets.
    async fn publish(&self, transaction: &[u8]) -> Result<(), String>;

    /// The fee rate with which a transaction is in a block within an hour, in sats per virtual byte, at least 1.
    ///
    /// # Errors
    /// Why it is not known, in words for the operator and without secrets.
    async fn fee_rate(&self) -> Result<f64, String>;
}

/// Where the node learns of blocks.
pub enum ChainSource {
    /// An Esplora server.
    Esplora {
        /// Its base URL.
        url: String,
        /// Sent as bearer token, if the server wants one.
        token: Option<String>,
    },
    /// The RPC of a bitcoind.
    Bitcoind {
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
        /// The user.
        user: String,
        /// The user's password.
        password: String,
    },
}

/// A service that opens channels for incoming payments (LSPS2).
#[derive(Clone)]
pub struct LiquidityProvider {
    pub(crate) node_id: PublicKey,
    pub(crate) address: SocketAddress,
    pub(crate) token: Option<String>,
}

/// A value that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOption {
    /// Not a BIP-39 mnemonic.
    #[error("the mnemonic is not an English BIP-39 mnemonic")]
    Mnemonic,
    /// Not of the form `<node id>@<host>:<port>`.
    #[error("the liquidity provider must be <node id>@<host>:<port>")]
    Provider,
}

impl LiquidityProvider {
    /// Reads `<node id>@<host>:<port>`; `token` is what the provider may ask for.
    ///
    /// # Errors
    /// If the text has another form.
    pub fn new(text: &str, token: Option<String>) -> Result<Self, InvalidOption> {
        let (id, address) = text.split_once('@').ok_or(InvalidOption::Provider)?;
        let node_id = PublicKey::from_str(id).map_err(|_| InvalidOption::Provider)?;
        let address = SocketAddress::from_str(address).map_err(|_| InvalidOption::Provider)?;
        Ok(Self { node_id, address, token })
    }
}

impl Options {
    pub(crate) fn mnemonic(&self) -> Result<Mnemonic, InvalidOption> {
        Mnemonic::from_str(&self.mnemonic).map_err(|_| InvalidOption::Mnemonic)
    }

    /// The root of the on-chain wallet's keys (BIP 32), as the library derives it.
    pub(crate) fn root(&self) -> Result<Xpriv, InvalidOption> {
        let seed = self.mnemonic()?.to_seed_normalized("");
        Xpriv::new_master(bitcoin_network(self.network), &seed).map_err(|_| InvalidOption::Mnemonic)
    }

    /// Tells the seed from others, and nothing else of it.
    pub(crate) fn fingerprint(&self) -> Result<String, InvalidOption> {
        let mut engine = sha256::HashEngine::default();
        engine.input(b"usher: fingerprint of the Lightning node's seed");
        engine.input(&self.mnemonic()?.to_seed_normalized(""));
        let digest = sha256::Hash::from_engine(engine).to_byte_array();
        Ok(digest.iter().take(FINGERPRINT).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The network in the library's words.
pub(crate) const fn bitcoin_network(network: Network) -> ldk_node::bitcoin::Network {
    match network {
        Network::Bitcoin => ldk_node::bitcoin::Network::Bitcoin,
        Network::Testnet => ldk_node::bitcoin::Network::Testnet,
        Network::Signet => ldk_node::bitcoin::Network::Signet,
        Network::Regtest => ldk_node::bitcoin::Network::Regtest,
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("folder", &self.folder).field("network", &self.network).finish_non_exhaustive()
    }
}

impl fmt::Debug for ChainSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Esplora { .. } => "Esplora",
            Self::Bitcoind { .. } => "Bitcoind",
        })
    }
}

impl fmt::Debug for LiquidityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LiquidityProvider").field(&self.node_id).finish()
    }
}
