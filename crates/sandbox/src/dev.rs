//! What `usher dev` runs beside the service: a relay, and a user with a wallet.

use std::io;
use std::path::{Path, PathBuf};

use crate::relay::EmbeddedRelay;
use crate::wallet::{FileError, Identity, Policy, Wallet, WalletFile};

/// Name of the wallet's file in the folder.
const WALLET_FILE: &str = "wallet.json";

/// A small world for one developer. Dropping it ends it; the wallet's file stays.
#[derive(Debug)]
pub struct DevWorld {
    relay: EmbeddedRelay,
    wallet_file: PathBuf,
}

/// Why the world did not come to be.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The relay's port cannot be listened on.
    #[error("the embedded relay cannot listen on port {port}")]
    Relay {
        /// The port.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// The wallet's file.
    #[error(transparent)]
    Wallet(#[from] FileError),
}

impl DevWorld {
    /// Starts a relay on `relay_port` of 127.0.0.1 (0 takes a free one), and makes a wallet in `folder`, or goes on
    /// with the one that is there. Either way the wallet's relay is the embedded one.
    ///
    /// # Errors
    /// [`DevError`].
    pub async fn start(folder: &Path, relay_port: u16) -> Result<Self, DevError> {
        let relay =
            EmbeddedRelay::start_on(relay_port).await.map_err(|source| DevError::Relay { port: relay_port, source })?;
        let wallet_file = folder.join(WALLET_FILE);
        let relays = vec![relay.url().to_owned()];
        match WalletFile::load(&wallet_file) {
            Ok(mut file) if file.relays != relays => {
                file.relays = relays;
                // Those it knew were reached by a relay that is gone.
                file.services.clear();
                file.requests.clear();
                file.save()?;
            }
            Ok(_) => {}
            Err(FileError::Missing(_)) => {
                WalletFile::create(&wallet_file, Identity::generate(), relays)?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Self { relay, wallet_file })
    }

    /// The relay's address.
    pub fn relay_url(&self) -> &str {
        self.relay.url()
    }

    /// The wallet's file, for `usher wallet --wallet …`.
    pub fn wallet_file(&self) -> &Path {
        &self.wallet_file
    }

    /// A running wallet of the file's user.
    ///
    /// # Errors
    /// [`FileError`].
    pub async fn wallet(&self, policy: Policy) -> Result<Wallet, FileError> {
        Ok(Wallet::start(WalletFile::load(&self.wallet_file)?.options(policy)).await)
    }

    /// Ends it.
    pub async fn stop(&self) {
        self.relay.stop().await;
    }
}
