//! The environment of the service in `usher dev`: a relay, a user with a wallet, and Lightning between the two.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use usher::failure::Failure;
use usher_sandbox::clock::SharedClock;
use usher_sandbox::lightning::nwc::{Capabilities, HonestHandler, RequestHandler};
use usher_sandbox::lightning::{LightningNetwork, NwcKeys, NwcService};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{
    FileError, Identity, Policy, ScriptedOutcomes, Secret, Wallet, WalletFile, WalletOptions, WorkCount,
};

use super::clock::{DevClock, WalletClock};

const WALLET_FILE: &str = "wallet.json";

const LIGHTNING_FILE: &str = "lightning.json";

/// The initial balance of the service's account, in millisats: enough to pay some invoices.
const SERVICE_BALANCE: u64 = 100_000_000;

/// The initial balance of the user's account, in millisats.
const USER_BALANCE: u64 = 1_000_000_000;

/// Time limit for the wallet services to connect to the relay.
const READY: Duration = Duration::from_secs(10);

/// The backend of a user's Lightning wallet, and its capabilities.
pub(super) type Payer = (Capabilities, Arc<dyn RequestHandler>);

/// A small network for one developer. Dropping it ends it; the files of the wallet and of Lightning stay.
pub(super) struct DevEnvironment {
    relay: EmbeddedRelay,
    wallet_file: PathBuf,
    clock: Arc<DevClock>,
    service: NwcService,
    user: NwcService,
    /// Whether the user pays from an account of `lightning`, not from a node.
    pays_from_account: bool,
}

/// Starts a relay; port 0 means any free one.
///
/// # Errors
/// If the address is not available.
pub(super) async fn relay(address: SocketAddr) -> Result<EmbeddedRelay, Failure> {
    EmbeddedRelay::start_at(address)
        .await
        .map_err(|error| Failure::said(format!("the embedded relay cannot listen on {address}: {error}")))
}

impl DevEnvironment {
    /// Starts a wallet and Lightning accounts on this relay, in `folder`, where they are created if missing. A payer
    /// becomes the user's Lightning wallet, on a real Lightning network; the service's account is not on it.
    ///
    /// # Errors
    /// When a file of the folder cannot be read or written.
    pub(super) async fn start(
        folder: &Path,
        relay: EmbeddedRelay,
        payer: Option<Payer>,
        clock: Arc<DevClock>,
    ) -> Result<Self, Failure> {
        let lightning =
            LightningNetwork::at(&folder.join(LIGHTNING_FILE), SharedClock(Arc::clone(&clock) as _).into())?;
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
        Ok(Self { relay, wallet_file, clock, service, user, pays_from_account })
    }

    pub(super) fn relay_url(&self) -> &str {
        self.relay.url()
    }

    /// The wallet's file, for `usher wallet --wallet …`.
    pub(super) fn wallet_file(&self) -> &Path {
        &self.wallet_file
    }

    /// Starts the wallet of the file's user. It pays from the user's account, or over NIP-47 if there is a node.
    pub(super) async fn wallet(
        &self,
        policy: Policy,
        outcomes: ScriptedOutcomes,
        work: WorkCount,
    ) -> Result<Wallet, FileError> {
        let options = WalletFile::load(&self.wallet_file)?.options(policy).saving_in(&self.wallet_file);
        let options = if self.pays_from_account { options.paying_from(self.user.account()) } else { options };
        let clock = SharedClock(Arc::new(WalletClock(Arc::clone(&self.clock))));
        Ok(Wallet::start(WalletOptions { outcomes, work, clock, ..options }).await)
    }

    /// The connection string of the service's Lightning wallet (`wallet.nwc.url`), constant for a folder and port.
    pub(super) fn nwc_url(&self) -> String {
        self.service.url()
    }

    pub(super) async fn stop(self) {
        self.service.stop().await;
        self.user.stop().await;
        self.relay.stop().await;
    }
}

/// Creates the wallet's file, or updates an existing one.
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
