//! What `usher dev` runs beside the service: a relay, a user with a wallet, and Lightning between the two.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::lightning::nwc::{Capabilities, HonestHandler, RequestHandler};
use crate::lightning::{LightningNetwork, NetworkFileError, NwcKeys, NwcService};
use crate::relay::EmbeddedRelay;
use crate::wallet::{FileError, Identity, Policy, Secret, Wallet, WalletFile};

const WALLET_FILE: &str = "wallet.json";

const LIGHTNING_FILE: &str = "lightning.json";

/// What the service's account has at first, in millisats: enough to pay some invoices.
const SERVICE_BALANCE: u64 = 100_000_000;

/// What the user's account has at first, in millisats.
const USER_BALANCE: u64 = 1_000_000_000;

/// How long the wallet services may take to listen at the relay beside them.
const READY: Duration = Duration::from_secs(10);

/// A small network for one developer. Dropping it ends it; the files of the wallet and of Lightning stay.
#[derive(Debug)]
pub struct DevEnvironment {
    relay: EmbeddedRelay,
    wallet_file: PathBuf,
    service: NwcService,
    user: NwcService,
    /// Whether the user pays from an account of `lightning`, and not from a node.
    pays_from_account: bool,
}

/// Why the network did not start.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The relay's address cannot be listened on.
    #[error("the embedded relay cannot listen on {address}")]
    Relay {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The wallet's file.
    #[error(transparent)]
    Wallet(#[from] FileError),
    /// The file of Lightning.
    #[error(transparent)]
    Lightning(#[from] NetworkFileError),
}

impl DevEnvironment {
    /// Starts a relay at `relay` (port 0 takes a free one), with a wallet and Lightning accounts in `folder`, which are
    /// made unless they exist. The wallet's relay is the embedded one.
    pub async fn start(folder: &Path, relay: SocketAddr) -> Result<Self, DevError> {
        Self::start_with(folder, relay, None).await
    }

    /// The same, but the user's Lightning wallet is the payer of a real Lightning network; the service's account is not
    /// on it.
    #[cfg(feature = "lightning-network")]
    pub async fn start_on(
        folder: &Path,
        relay: SocketAddr,
        network: Arc<usher_lightning_network::Network>,
    ) -> Result<Self, DevError> {
        use crate::lightning::nwc::NodeHandler;

        let payer = (NodeHandler::capabilities(), Arc::new(NodeHandler::new(network)) as Arc<dyn RequestHandler>);
        Self::start_with(folder, relay, Some(payer)).await
    }

    async fn start_with(
        folder: &Path,
        relay: SocketAddr,
        payer: Option<(Capabilities, Arc<dyn RequestHandler>)>,
    ) -> Result<Self, DevError> {
        let relay =
            EmbeddedRelay::start_at(relay).await.map_err(|source| DevError::Relay { address: relay, source })?;
        let lightning = LightningNetwork::at(&folder.join(LIGHTNING_FILE))?;
        let service = NwcService::start(&lightning.open_account("service", SERVICE_BALANCE), &[relay.url()]).await;
        let (account, pays_from_account) = (lightning.open_account("user", USER_BALANCE), payer.is_none());
        let (capabilities, handler) = payer.unwrap_or_else(|| (Capabilities::default(), Arc::new(HonestHandler)));
        let keys = NwcKeys::of(&account);
        let user = NwcService::start_with(&account, &[relay.url()], keys, capabilities, handler).await;
        let wallet_file = folder.join(WALLET_FILE);
        prepare(&wallet_file, relay.url(), Secret(user.url()))?;
        for wallet in [&service, &user] {
            // The relay is in this process. If it is too busy now, they connect later.
            if let Err(error) = wallet.ready(READY).await {
                tracing::warn!(%error, "a Lightning wallet is not connected to the relay yet");
            }
        }
        Ok(Self { relay, wallet_file, service, user, pays_from_account })
    }

    /// The relay's address.
    pub fn relay_url(&self) -> &str {
        self.relay.url()
    }

    /// The wallet's file, for `usher wallet --wallet …`.
    pub fn wallet_file(&self) -> &Path {
        &self.wallet_file
    }

    /// A running wallet of the file's user. It pays from the user's account, or over NIP-47 if a node is behind it.
    pub async fn wallet(&self, policy: Policy) -> Result<Wallet, FileError> {
        let options = WalletFile::load(&self.wallet_file)?.options(policy).saving_in(&self.wallet_file);
        let options = if self.pays_from_account { options.paying_from(self.user.account()) } else { options };
        Ok(Wallet::start(options).await)
    }

    /// The connection string of the service's Lightning wallet (`wallet.nwc.url`), the same for the same folder and
    /// port.
    pub fn nwc_url(&self) -> String {
        self.service.url()
    }

    /// Ends it.
    pub async fn stop(&self) {
        self.service.stop().await;
        self.user.stop().await;
        self.relay.stop().await;
    }
}

/// Makes the wallet's file, or brings the one that is there up to date.
fn prepare(path: &Path, relay: &str, nwc: Secret) -> Result<(), FileError> {
    let relays = vec![relay.to_owned()];
    let mut file = match WalletFile::load(path) {
        Ok(file) => file,
        Err(FileError::Missing(_)) => WalletFile::create(path, Identity::generate(), relays.clone())?,
        Err(error) => return Err(error),
    };
    if file.relays != relays {
        file.relays = relays;
        // The known services used a relay that no longer exists.
        file.services.clear();
        file.requests.clear();
    }
    file.nwc = Some(nwc);
    file.save()
}
