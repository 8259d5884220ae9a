//! Guards against starting with an outdated copy of the node's data: a peer may take all the money of a channel whose
//! old state is published.
//!
//! Each write of a channel's state stamps the data with the next number, in the same transaction, and so does each
//! start, stop and on-chain payment. The service's database is updated at once. Data with a smaller number than the
//! database's were restored from a backup, or are missing. If *everything* is restored from the same backup, this
//! cannot be detected.
//!
//! In a backup of the service's database the number is marked: data newer than the backup may still be outdated, so the
//! operator decides about them.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use usher_engine::ports::{SettingStore, StoreError};

use crate::node::StartError;
use crate::store::Store;

/// The setting of the number in the service's database.
const SETTING: &str = "lightning.generation";

/// Appended to the number when the data were given up.
const ABANDONED: &str = " abandoned";

/// Appended to the number in a backup of the service's database.
const BACKUP: &str = " backup";

/// Shortest time between two writes to the service's database: a busy node changes channels more often.
const PAUSE: Duration = Duration::from_millis(200);

/// How long to wait after a failed write to the service's database.
const RETRY: Duration = Duration::from_secs(5);

/// The number, in both places.
#[derive(Clone)]
pub(crate) struct Generation {
    store: Arc<Store>,
    settings: Option<Arc<dyn SettingStore>>,
}

impl Generation {
    pub(crate) fn of(store: Arc<Store>, settings: Option<Arc<dyn SettingStore>>) -> Self {
        Self { store, settings }
    }

    /// Refuses data that are older than the service's database, or unknown to it. Call this before the node is built.
    pub(crate) async fn check(&self) -> Result<(), StartError> {
        let Some(settings) = &self.settings else { return Ok(()) };
        let here = *self.store.stamp().borrow();
        let has_entries = self.store.has_entries().map_err(StartError::storage)?;
        match Known::read(&**settings).await? {
            Some(Known { is_abandoned: true, .. }) if !has_entries => Ok(()),
            Some(Known { stamp, .. }) if here < stamp => Err(StartError::Restored { here, there: stamp }),
            Some(Known { is_backup: true, stamp, .. }) if !has_entries => {
                Err(StartError::Restored { here, there: stamp })
            }
            Some(Known { is_backup: true, .. }) => Err(StartError::Foreign),
            None if has_entries => Err(StartError::Foreign),
            Some(_) | None => Ok(()),
        }
    }

    /// Stamps the data of a node that is about to run, above all known numbers.
    pub(crate) async fn begin(&self) -> Result<(), StartError> {
        let Some(settings) = &self.settings else { return Ok(()) };
        let seen = Known::read(&**settings).await?.map_or(0, |known| known.stamp);
        let next = self.store.advance_stamp(seen).map_err(StartError::storage)?;
        set(&**settings, next).await.map_err(|error| StartError::Settings(error.to_string()))
    }

    pub(crate) async fn advance(&self) {
        if self.store.advance_stamp(0).is_ok() {
            self.record().await;
        }
    }

    pub(crate) async fn record(&self) {
        let Some(settings) = &self.settings else { return };
        let newest = *self.store.stamp().borrow();
        if let Err(error) = set(&**settings, newest).await {
            warn(&error);
        }
    }

    /// Copies new stamps to the service's database, until `stop`.
    pub(crate) async fn follow(self, stop: CancellationToken) {
        let Some(settings) = &self.settings else { return };
        let mut stamp = self.store.stamp();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = stamp.changed() => if changed.is_err() { return },
            }
            let next = *stamp.borrow_and_update();
            let pause = match set(&**settings, next).await {
                Ok(()) => PAUSE,
                Err(error) => {
                    warn(&error);
                    stamp.mark_changed();
                    RETRY
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

/// The content of the service's database.
pub(crate) struct Known {
    /// The newest stamp.
    pub(crate) stamp: u64,
    /// Whether the operator has given up the data: a new node may start, old copies may not.
    pub(crate) is_abandoned: bool,
    /// Whether the database is a restored backup with which no node has started yet.
    pub(crate) is_backup: bool,
}

impl Known {
    pub(crate) async fn read(settings: &dyn SettingStore) -> Result<Option<Self>, StartError> {
        let stored = settings.setting(SETTING).await.map_err(|error| StartError::Settings(error.to_string()))?;
        let Some(stored) = stored else { return Ok(None) };
        let stored = stored.trim_matches('"');
        let (stamp, is_abandoned, is_backup) = match (stored.strip_suffix(ABANDONED), stored.strip_suffix(BACKUP)) {
            (Some(stamp), _) => (stamp, true, false),
            (None, Some(stamp)) => (stamp, false, true),
            (None, None) => (stored, false, false),
        };
        let stamp = stamp.parse().map_err(|_| StartError::Settings(format!("{SETTING} is not a number")))?;
        Ok(Some(Self { stamp, is_abandoned, is_backup }))
    }
}

pub(crate) async fn set(settings: &dyn SettingStore, stamp: u64) -> Result<(), StoreError> {
    settings.set_setting(SETTING, Some(&stamp.to_string())).await
}

pub(crate) async fn abandon(settings: &dyn SettingStore, stamp: u64) -> Result<(), StoreError> {
    // Settings are JSON.
    settings.set_setting(SETTING, Some(&format!("\"{stamp}{ABANDONED}\""))).await
}

/// The setting and its value in a backup of this database; `None` if the service never had a node, or has given it up.
///
/// # Errors
/// If the service's database cannot be read.
pub async fn setting_of_backup(settings: &dyn SettingStore) -> Result<Option<(&'static str, String)>, StartError> {
    let known = Known::read(settings).await?.filter(|known| !known.is_abandoned);
    Ok(known.map(|known| (SETTING, format!("\"{}{BACKUP}\"", known.stamp))))
}

fn warn(error: &StoreError) {
    tracing::warn!(%error, "the guard against old Lightning data cannot be stored");
}
