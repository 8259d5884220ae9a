//! Options of the node.

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

/// Bytes of the digest that identifies a seed.
const FINGERPRINT: usize = 8;

/// Options of the node. `Debug` shows no secret.
pub struct Options {
    /// The folder of its data, created if missing. Nothing else may use it.
    pub folder: PathBuf,
    /// The network of invoices and channels.
    pub network: Network,
    /// The seed: an English BIP-39 mnemonic.
    pub mnemonic: String,
    /// The source of blocks.
    pub chain: ChainSource,
    /// Opens channels for incoming payments.
    pub provider: Option<LiquidityProvider>,
    /// The largest routing fee of a payment, in percent of its amount.
    pub max_fee_percent: u64,
    /// The most that the provider may deduct from a payment for opening a channel, in percent of its amount.
    pub max_opening_fee_percent: u64,
    /// Queries the chain source for its tip before the node is built and for fee rates, and republishes transactions;
    /// without it, none of this is done.
    pub chain_access: Option<Arc<dyn ChainAccess>>,
    /// Whether a new node scans the whole chain for the mnemonic's money. With an Esplora server it always does.
    pub recover: bool,
    /// Stores which copy of the data is the newest; without it, old copies are not detected.
    pub settings: Option<Arc<dyn SettingStore>>,
}

/// The tip of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its network.
    pub network: Network,
    /// The height of its last block.
    pub height: u32,
}

/// Requests to the chain source beyond the library's own.
#[async_trait]
pub trait ChainAccess: Send + Sync {
    /// The tip of the chain.
    ///
    /// # Errors
    /// Why the chain source cannot be used, for the operator and without secrets.
    async fn tip(&self) -> Result<Tip, String>;

    /// Publishes a serialised transaction. One that the chain source already has is no error.
    ///
    /// # Errors
    /// Why the chain source rejects it, for the operator and without secrets.
    async fn publish(&self, transaction: &[u8]) -> Result<(), String>;

    /// The fee rate that confirms a transaction within an hour, in sats per virtual byte, at least 1.
    ///
    /// # Errors
    /// Why it is unknown, for the operator and without secrets.
    async fn fee_rate(&self) -> Result<f64, String>;
}

/// The source of blocks.
pub enum ChainSource {
    /// An Esplora server.
    Esplora {
        /// Its base URL.
        url: String,
        /// Sent as bearer token, if the server requires one.
        token: Option<String>,
    },
    /// The RPC of a bitcoind.
    Bitcoind {
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
        /// Its user.
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

/// An invalid option.
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
    /// Parses `<node id>@<host>:<port>`; `token` is for providers that require one.
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

    /// Identifies the seed without revealing it.
    pub(crate) fn fingerprint(&self) -> Result<String, InvalidOption> {
        let mut engine = sha256::HashEngine::default();
        engine.input(b"usher: fingerprint of the Lightning node's seed");
        engine.input(&self.mnemonic()?.to_seed_normalized(""));
        let digest = sha256::Hash::from_engine(engine).to_byte_array();
        Ok(hex::encode(digest.get(..FINGERPRINT).unwrap_or_default()))
    }
}

/// The network as the library's type.
pub(crate) const fn bitcoin_network(network: Network) -> ldk_node::bitcoin::Network {
    match network {
        Network::Bitcoin => ldk_node::bitcoin::Network::Bitcoin,
        Network::Testnet => ldk_node::bitcoin::Network::Testnet,
        Network::Signet => ldk_node::bitcoin::Network::Signet,
        Network::Regtest => ldk_node::bitcoin::Network::Regtest,
    }
}

usher_protocol::debug_shows!(Options { folder, network });

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
