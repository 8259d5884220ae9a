//! Builds the library's node twice: at once a draft, which shows the stored state, and the real one as soon as the
//! chain source answers and has the right network. Retries the start.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ldk_node::config::Config;
use ldk_node::{BuildError, Builder, Node, NodeError};
use tokio_util::sync::CancellationToken;
use usher_protocol::bolt11::Network;

use crate::draft_store::DraftStore;
use crate::log_bridge::LogBridge;
use crate::options::{ChainSource, InvalidOption, Options, bitcoin_network};
use crate::store::{OpenError, Store};

/// The pause after the first failed start.
pub(crate) const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between attempts.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The on-chain balance, in sats, with which the node can close a channel alone: publishing the closing transaction and
/// claiming pending payments cost miner fees (the library's default).
pub(crate) const CLOSING_RESERVE: u64 = 25_000;

/// Why the node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An option is invalid.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// Its storage cannot be opened.
    #[error("the Lightning node's data cannot be opened")]
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
    /// The service's database does not know the data.
    #[error(
        "the service's database does not know the Lightning node's data: it is new, or the data are of another service. With an old \
         copy of the data a peer may take all the money of a channel. If you are sure that they are the newest and \
         that no other service uses them, run `usher lightning adopt`"
    )]
    Foreign,
    /// The data belong to another seed.
    #[error("the Lightning node's data belong to another wallet.embedded.mnemonic")]
    OtherMnemonic,
    /// The data belong to another network.
    #[error("the Lightning node's data belong to the network {0}, and wallet.network is {1}")]
    OtherNetwork(String, &'static str),
    /// The service's own database cannot be read or written.
    #[error("the stamp of the Lightning node's data cannot be read or written: {0}")]
    Settings(String),
    /// The system provides no threads.
    #[error("the Lightning node has no threads: {0}")]
    Threads(std::io::Error),
    /// The chain source does not report the tip of the chain.
    #[error("the chain source does not say where the chain ends")]
    NoTip,
    /// The library cannot use the stored data.
    #[error("the Lightning node's data cannot be used: {0}")]
    Build(BuildError),
}

impl StartError {
    /// Whether another start with the same data, options and program fails in the same way.
    pub const fn is_permanent(&self) -> bool {
        match self {
            Self::Option(_)
            | Self::Restored { .. }
            | Self::Foreign
            | Self::OtherMnemonic
            | Self::OtherNetwork(..)
            | Self::Store(OpenError::Newer(_)) => true,
            Self::Store(_) | Self::Settings(_) | Self::Threads(_) | Self::NoTip | Self::Build(_) => false,
        }
    }

    pub(crate) fn storage(error: std::io::Error) -> Self {
        Self::Store(OpenError::Io(error))
    }
}

/// The chain source of a draft: unreachable.
const NOWHERE: &str = "http://127.0.0.1:9";

pub(crate) fn check_owner(options: &Options, store: &Store) -> Result<(), StartError> {
    let network = options.network.as_str();
    if !store.has_entries().map_err(StartError::storage)? {
        return Ok(());
    }
    match store.owner().map_err(StartError::storage)? {
        Some((seed, _)) if seed != options.fingerprint()? => Err(StartError::OtherMnemonic),
        Some((_, known)) if known != network => Err(StartError::OtherNetwork(known, network)),
        Some(_) | None => Ok(()),
    }
}

/// Stores the owner of the data, if not yet known.
fn note_owner(options: &Options, store: &Store) -> Result<(), StartError> {
    if store.owner().map_err(StartError::storage)?.is_some() {
        return Ok(());
    }
    store.set_owner(&options.fingerprint()?, options.network.as_str()).map_err(StartError::storage)
}

/// A node that shows the stored state. It is never started, contacts nobody and stores nothing. Also returns whether
/// the node will publish closing transactions of channels with the provider itself; without an on-chain balance it
/// cannot pay for that. Blocks.
pub(crate) fn draft(
    options: &Options,
    store: Arc<Store>,
    runtime: &tokio::runtime::Handle,
) -> Result<(Node, bool), StartError> {
    let mut builder = builder(options, runtime, false)?;
    builder.set_chain_source_esplora(NOWHERE.to_owned(), None);
    let node = builder.build_with_store(Arc::new(DraftStore::of(Arc::clone(&store)))).map_err(StartError::Build)?;
    if store.has_entries().map_err(StartError::storage)? {
        // Building succeeded, so the data are this node's.
        note_owner(options, &store)?;
    }
    let closes_alone = options.provider.is_none() || node.list_balances().total_onchain_balance_sats >= CLOSING_RESERVE;
    Ok((node, closes_alone))
}

pub(crate) fn build(
    options: &Options,
    store: Arc<Store>,
    runtime: &tokio::runtime::Handle,
    closes_alone: bool,
) -> Result<Node, StartError> {
    if !store.has_entries().map_err(StartError::storage)? {
        begin(options, &store, runtime)?;
    }
    let mut builder = builder(options, runtime, closes_alone)?;
    set_chain_source(&mut builder, &options.chain);
    let stored = Arc::clone(&store);
    let node = builder.build_with_store(stored).map_err(StartError::Build)?;
    note_owner(options, &store)?;
    if !store.has_channel_manager().map_err(StartError::storage)? {
        check_tip(options, &node)?;
    }
    Ok(node)
}

/// Stores a new node in one transaction: the library cannot open a partially stored wallet. With a bitcoind, the node
/// scans for its money from the current tip, unless it recovers a mnemonic.
fn begin(options: &Options, store: &Arc<Store>, runtime: &tokio::runtime::Handle) -> Result<(), StartError> {
    let mut builder = builder(options, runtime, false)?;
    match &options.chain {
        chain @ ChainSource::Bitcoind { .. } if !options.recover => set_chain_source(&mut builder, chain),
        // Without a tip it would scan from the first block.
        ChainSource::Bitcoind { .. } | ChainSource::Esplora { .. } => {
            builder.set_chain_source_esplora(NOWHERE.to_owned(), None);
        }
    }
    let draft = Arc::new(DraftStore::of(Arc::clone(store)));
    let stored = Arc::clone(&draft);
    let node = builder.build_with_store(stored).map_err(StartError::Build)?;
    if !options.recover {
        check_tip(options, &node)?;
    }
    // The library stores the wallet's birthday together with the first address.
    node.onchain_payment().new_address().map_err(|_| StartError::Build(BuildError::WalletSetupFailed))?;
    draft.commit().map_err(StartError::storage)
}

/// A bitcoind must have reported its tip: otherwise the library continues and later scans the whole chain. Regtest may
/// have no blocks.
fn check_tip(options: &Options, node: &Node) -> Result<(), StartError> {
    let asks_bitcoind = matches!(options.chain, ChainSource::Bitcoind { .. });
    if asks_bitcoind && options.network != Network::Regtest && node.status().current_best_block.height == 0 {
        return Err(StartError::NoTip);
    }
    Ok(())
}

fn set_chain_source(builder: &mut Builder, chain: &ChainSource) {
    match chain {
        ChainSource::Esplora { url, token } => {
            let headers: HashMap<_, _> =
                token.iter().map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))).collect();
            builder.set_chain_source_esplora_with_headers(url.clone(), headers, None);
        }
        ChainSource::Bitcoind { host, port, user, password } => {
            builder.set_chain_source_bitcoind_rpc(host.clone(), *port, user.clone(), password.clone());
        }
    }
}

/// The builder shared by drafts and running nodes.
fn builder(options: &Options, runtime: &tokio::runtime::Handle, closes_alone: bool) -> Result<Builder, StartError> {
    let mut config = Config {
        storage_dir_path: options.folder.to_string_lossy().into_owned(),
        network: bitcoin_network(options.network),
        ..Config::default()
    };
    if let (Some(anchors), Some(provider)) = (&mut config.anchor_channels_config, &options.provider) {
        // The library refuses the provider's channels unless it keeps a reserve for each, which a new operator does not
        // have, or trusts the provider. If it trusts the provider, it never publishes the closing transaction of such a
        // channel.
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
    if let Some(provider) = &options.provider {
        builder.set_liquidity_source_lsps2(provider.node_id, provider.address.clone(), provider.token.clone());
    }
    Ok(builder)
}

/// Waits until the chain source answers, has the right network, and has as many blocks as the node has seen: the
/// library treats a shorter chain as a reorganisation that undid its channels' funding, and closes them. `false`: the
/// node stops.
pub(crate) async fn until_chain(options: &Options, seen: u32, stop: &CancellationToken) -> bool {
    let Some(chain) = &options.chain_access else { return true };
    let mut pause = MIN_PAUSE;
    loop {
        let problem = tokio::select! {
            () = stop.cancelled() => return false,
            tip = chain.tip() => match tip {
                Ok(tip) if tip.network != options.network => format!(
                    "it is on {}, and wallet.network is {}", tip.network.as_str(), options.network.as_str()
                ),
                Ok(tip) if tip.height < seen => {
                    format!("it has {} blocks, and the node has seen {seen}", tip.height)
                }
                Ok(_) => return true,
                Err(problem) => problem,
            },
        };
        tracing::warn!(problem, retry = ?pause, "the Lightning node waits for its chain source");
        tokio::select! {
            () = stop.cancelled() => return false,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Starts the node, and retries while its chain source does not answer. `false`: it was stopped first, or cannot start.
/// Runs on the node's runtime.
pub(crate) async fn start(node: &Arc<Node>, stop: &CancellationToken) -> bool {
    let mut pause = MIN_PAUSE;
    loop {
        let starting = Arc::clone(node);
        match tokio::task::spawn_blocking(move || starting.start()).await {
            Ok(Ok(()) | Err(NodeError::AlreadyRunning)) => return true,
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
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
