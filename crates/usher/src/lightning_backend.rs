//! The configured Lightning backend of the service.

use std::path::Path;
use std::sync::Arc;

use secrecy::ExposeSecret as _;
use usher_engine::LightningBackend;
use usher_engine::ports::{Clock, LightningNotifications};
use usher_instance::LeaseGate;
use usher_lightning::nwc::{NwcBackend, NwcOptions, Settings};
use usher_store::Database;

use crate::config::Config;
use crate::config::setting::LnBackend;
use crate::failure::Failure;
use crate::task_group::TaskGroup;

type Started = (LightningBackend, LightningNotifications);

/// The Lightning node inside this process, if there is one. It has its own threads, and must be stopped.
#[derive(Default)]
pub(crate) struct EmbeddedNode {
    #[cfg(feature = "embedded-lightning")]
    node: Option<Arc<usher_embedded_lightning::EmbeddedLightning>>,
}

impl EmbeddedNode {
    /// Stops it in order, so that the next start finds its channels unchanged.
    pub(crate) async fn stop(&self) {
        #[cfg(feature = "embedded-lightning")]
        if let Some(node) = &self.node {
            node.stop().await;
        }
    }
}

/// Starts the configured backend, without waiting for a wallet or the chain.
pub(crate) async fn start(
    config: &Config,
    data_dir: &Path,
    store: &Arc<dyn Database>,
    clock: &Arc<dyn Clock>,
    tasks: &TaskGroup,
    gate: &LeaseGate,
) -> Result<(EmbeddedNode, Option<Started>), Failure> {
    match config.wallet.ln_backend {
        LnBackend::None => Ok((EmbeddedNode::default(), None)),
        LnBackend::Nwc => Ok((EmbeddedNode::default(), Some(start_nwc(config, store, clock, tasks, gate)?))),
        LnBackend::Embedded => start_embedded(config, data_dir, store, clock).await,
    }
}

fn start_nwc(
    config: &Config,
    store: &Arc<dyn Database>,
    clock: &Arc<dyn Clock>,
    tasks: &TaskGroup,
    gate: &LeaseGate,
) -> Result<Started, Failure> {
    // The message must not contain the address, which is a secret.
    let unusable = || Failure::said("wallet.nwc.url cannot be used");
    let url = config.nwc.url.as_ref().ok_or_else(unusable)?.secret().expose_secret();
    let settings = Settings(Some(store.clone()));
    let url = url.parse().map_err(|_| unusable())?;
    let options = NwcOptions { settings, gate: gate.of_connections(), ..NwcOptions::new(url) };
    let clock = Arc::clone(clock);
    let (wallet, notifications) =
        NwcBackend::start(options, clock, &tasks.tasks, tasks.stop.clone()).map_err(|_| unusable())?;
    Ok((LightningBackend { adapter: wallet, name: "nwc", node: None }, notifications))
}

#[cfg(feature = "embedded-lightning")]
async fn start_embedded(
    config: &Config,
    data_dir: &Path,
    store: &Arc<dyn Database>,
    clock: &Arc<dyn Clock>,
) -> Result<(EmbeddedNode, Option<Started>), Failure> {
    use usher_embedded_lightning::EmbeddedLightning;

    let folder = data_dir.join("lightning");
    let options = embedded_options(config, folder.clone(), store)?;
    let (node, notifications) = EmbeddedLightning::start(options, Arc::clone(clock)).await.map_err(|error| {
        let said = format!("{}: {}", folder.display(), crate::failure::chain(&error));
        if error.is_permanent() { Failure::refused(said) } else { Failure::said(said) }
    })?;
    let backend = LightningBackend { adapter: node.clone(), name: "embedded", node: Some(node.clone()) };
    Ok((EmbeddedNode { node: Some(node) }, Some((backend, notifications))))
}

/// The node's options.
#[cfg(feature = "embedded-lightning")]
pub(crate) fn embedded_options(
    config: &Config,
    folder: std::path::PathBuf,
    store: &Arc<dyn Database>,
) -> Result<usher_embedded_lightning::Options, Failure> {
    use usher_embedded_lightning::{ChainSource, LiquidityProvider, Options};

    // Validated when it was read.
    let unusable = |key: &str| Failure::said(format!("{key} cannot be used"));
    let expose = |secret: &crate::config::setting::Secret| secret.secret().expose_secret().to_owned();
    let (embedded, bitcoind) = (&config.embedded, &config.bitcoind);
    let token = embedded.token().map(expose);
    let chain = match (&embedded.chain_url, &bitcoind.host) {
        (Some(url), _) => {
            ChainSource::Esplora { url: url.url().as_str().trim_end_matches('/').to_owned(), token: token.clone() }
        }
        (None, Some(host)) => ChainSource::Bitcoind {
            host: host.as_str().to_owned(),
            port: bitcoind.port_on(config.wallet.network),
            user: bitcoind.rpc_user.as_ref().map(|user| user.as_str().to_owned()).unwrap_or_default(),
            password: bitcoind.rpc_password.as_ref().map(expose).unwrap_or_default(),
        },
        (None, None) => return Err(unusable("wallet.embedded.chain_url")),
    };
    let provider = embedded.provider().map(|provider| LiquidityProvider::new(provider, token));
    let chain_access = crate::chain_source::ChainSource::of(config).map_err(Failure::said)?;
    let mnemonic = embedded.mnemonic.as_ref().ok_or_else(|| unusable("wallet.embedded.mnemonic"))?;
    Ok(Options {
        folder,
        network: config.wallet.network,
        mnemonic: mnemonic.secret().expose_secret().to_owned(),
        chain,
        provider: provider.transpose().map_err(|_| unusable("wallet.embedded.liquidity_provider"))?,
        max_fee_percent: config.wallet.max_fee_percent.get(),
        max_opening_fee_percent: embedded.max_opening_fee_percent.get(),
        chain_access: Some(Arc::new(chain_access)),
        recover: embedded.recover,
        settings: Some(store.clone()),
    })
}

/// The configuration refuses this backend in programs without it.
#[cfg(not(feature = "embedded-lightning"))]
async fn start_embedded(
    _config: &Config,
    _data_dir: &Path,
    _store: &Arc<dyn Database>,
    _clock: &Arc<dyn Clock>,
) -> Result<(EmbeddedNode, Option<Started>), Failure> {
    Err(Failure::said("this program was built without the Cargo feature embedded-lightning"))
}
