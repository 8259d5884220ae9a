//! Builds the library's node, and keeps trying to start it until its chain source answers.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use ldk_node::config::Config;
use ldk_node::lightning::ln::msgs::SocketAddress;
use ldk_node::{BuildError, Builder, Node, NodeError};
use tokio_util::sync::CancellationToken;
use usher_protocol::bolt11::Network;

use crate::log_bridge::LogBridge;
use crate::options::{ChainSource, InvalidOption, Options};
use crate::store::{OpenError, Store};

/// The longest pause between attempts to start the node.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The on-chain balance, in sats, with which the node can close a channel without its peer: publishing the closing
/// transaction and claiming payments under way cost miner fees (the library's default).
pub(crate) const CLOSING_RESERVE: u64 = 25_000;

/// Why the node cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An option has a value that cannot be used.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// Its storage cannot be opened.
    #[error("the Lightning node's data cannot be opened: {0}")]
    Store(#[from] OpenError),
    /// The data are older than what the service had: they were restored from a backup.
    #[error(
        "the Lightning node's data are an old copy, or missing (stamp {here}; the service has seen {there}). With old data a peer may \
         take all the money of a channel. Put the newest copy back. If there is none, do not start this node again: its \
         peers still have the newest state, and can close the channels"
    )]
    Restored {
        /// The stamp of the data.
        here: u64,
        /// The newest stamp that the service knows.
        there: u64,
    },
    /// The service's own database cannot be read.
    #[error("the stamp of the Lightning node's data cannot be read: {0}")]
    Settings(String),
    /// Nobody can connect to it there.
    #[error("the Lightning node cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The system gives it no threads.
    #[error("the Lightning node has no threads: {0}")]
    Threads(std::io::Error),
    /// The library cannot use the stored data: for example they belong to another mnemonic or network.
    #[error("the Lightning node's data cannot be used: {0}. Do they belong to this mnemonic and network?")]
    Build(BuildError),
}

impl StartError {
    /// Whether another start with the same data, options and program fails in the same way.
    pub const fn is_permanent(&self) -> bool {
        match self {
            Self::Option(_) | Self::Restored { .. } | Self::Store(OpenError::Newer(_)) => true,
            Self::Store(_) | Self::Settings(_) | Self::Listen(..) | Self::Threads(_) | Self::Build(_) => false,
        }
    }

    pub(crate) fn storage(error: std::io::Error) -> Self {
        Self::Store(OpenError::Io(error))
    }
}

/// Builds the node from what is stored; asks nobody. Also returns whether it closes channels with the provider by itself:
/// without an on-chain balance it cannot pay for that, and leaves it to the provider.
pub(crate) fn build(
    options: &Options,
    store: Arc<Store>,
    runtime: &tokio::runtime::Handle,
) -> Result<(Node, bool), StartError> {
    let node = build_with(options, Arc::clone(&store), runtime, false)?;
    if options.provider.is_none() {
        return Ok((node, true));
    }
    if node.list_balances().total_onchain_balance_sats < CLOSING_RESERVE {
        return Ok((node, false));
    }
    drop(node);
    Ok((build_with(options, store, runtime, true)?, true))
}

fn build_with(
    options: &Options,
    store: Arc<Store>,
    runtime: &tokio::runtime::Handle,
    closes_alone: bool,
) -> Result<Node, StartError> {
    let mut config = Config {
        storage_dir_path: options.folder.to_string_lossy().into_owned(),
        network: match options.network {
            Network::Bitcoin => ldk_node::bitcoin::Network::Bitcoin,
            Network::Testnet => ldk_node::bitcoin::Network::Testnet,
            Network::Signet => ldk_node::bitcoin::Network::Signet,
            Network::Regtest => ldk_node::bitcoin::Network::Regtest,
        },
        ..Config::default()
    };
    if let (Some(anchors), Some(provider)) = (&mut config.anchor_channels_config, &options.provider) {
        // The library refuses the provider's channels unless it keeps a reserve for each, which a new operator does not have,
        // or trusts the provider. But then it never publishes the closing transaction of such a channel.
        if closes_alone {
            anchors.per_channel_reserve_sats = 0;
        } else {
            anchors.trusted_peers_no_reserve.push(provider.node_id);
        }
    }
    let mut builder = Builder::from_config(config);
    builder.set_runtime(runtime.clone());
    builder.set_custom_logger(Arc::new(LogBridge));
    builder.set_entropy_bip39_mnemonic(options.mnemonic()?, None);
    match &options.chain {
        ChainSource::Esplora { url, token } => {
            let headers: HashMap<_, _> =
                token.iter().map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))).collect();
            builder.set_chain_source_esplora_with_headers(url.clone(), headers, None);
        }
        ChainSource::Bitcoind { host, port, user, password } => {
            builder.set_chain_source_bitcoind_rpc(host.clone(), *port, user.clone(), password.clone());
        }
    }
    if let Some(provider) = &options.provider {
        builder.set_liquidity_source_lsps2(provider.node_id, provider.address.clone(), provider.token.clone());
    }
    if let Some(listen) = options.listen {
        drop(TcpListener::bind(listen).map_err(|error| StartError::Listen(listen, error))?);
        builder.set_listening_addresses(vec![SocketAddress::from(listen)]).map_err(StartError::Build)?;
    }
    builder.build_with_store(store).map_err(StartError::Build)
}

/// Starts the node, and tries again while its chain source does not answer. `false`: it was stopped first, or cannot be
/// started. Runs on the node's runtime.
pub(crate) async fn start(node: &Arc<Node>, stop: &CancellationToken) -> bool {
    let mut pause = Duration::from_secs(1);
    loop {
        let starting = Arc::clone(node);
        let started = tokio::task::spawn_blocking(move || starting.start()).await;
        match started {
            Ok(Ok(()) | Err(NodeError::AlreadyRunning)) => return true,
            Ok(Err(error @ NodeError::InvalidSocketAddress)) => {
                tracing::error!(%error, "the Lightning node cannot listen for peers; it is off until the next start");
                return false;
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, retry = ?pause, "the Lightning node waits for its chain source");
            }
            Err(error) => {
                tracing::error!(%error, "the Lightning node broke; it is off until the next start");
                return false;
            }
        }
        tokio::select! {
            () = stop.cancelled() => return false,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
