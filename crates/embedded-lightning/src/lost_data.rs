//! The operator's decisions about data that the guard against old copies (`rollback_guard.rs`) refuses: give up a node
//! whose data are lost, so that a new one can start, or adopt data unknown to the service's database.

use std::path::Path;

use usher_engine::ports::SettingStore;

use crate::node::{StartError, check_owner};
use crate::options::Options;
use crate::rollback_guard::{self, Known};
use crate::store::{FILE, Store};

/// The state of a node's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataState {
    /// The service never had a node, or has given it up.
    None,
    /// The data exist, current or old.
    Present,
    /// The data exist, but the service's database does not know them, or is a backup that is not newer.
    Unknown,
    /// The service had a node, and its data are missing.
    Lost,
}

/// Whether the data of the service's node are lost. The service must not run.
///
/// # Errors
/// If a process uses the folder, or it or the service's database cannot be read.
pub async fn data_state(folder: &Path, settings: &dyn SettingStore) -> Result<DataState, StartError> {
    let known = Known::read(settings).await?;
    // A refused start leaves a file without data.
    if folder.join(FILE).try_exists().map_err(StartError::storage)? {
        let store = Store::open(folder)?;
        let (has_entries, stamp) = (store.has_entries(), *store.stamp().borrow());
        store.close();
        if has_entries.map_err(StartError::storage)? {
            let is_known = known.is_some_and(|known| !known.is_backup || stamp < known.stamp);
            return Ok(if is_known { DataState::Present } else { DataState::Unknown });
        }
    }
    Ok(if known.is_some_and(|known| !known.is_abandoned) { DataState::Lost } else { DataState::None })
}

/// Adopts data unknown to the service's database, which must be the newest. The service must not run.
///
/// # Errors
/// If the data are of another mnemonic or network, a process uses the folder, or it or the service's database cannot be used.
pub async fn adopt(options: &Options) -> Result<(), StartError> {
    let Some(settings) = &options.settings else { return Ok(()) };
    let store = Store::open(&options.folder)?;
    let checked = check_owner(options, &store);
    let stamp = *store.stamp().borrow();
    store.close();
    checked?;
    rollback_guard::set(&**settings, stamp).await.map_err(|error| StartError::Settings(error.to_string()))
}

/// Gives up the node whose data are lost: the next start creates a new one, and old copies are still refused.
///
/// # Errors
/// If the service's database cannot be read or written.
pub async fn give_up(settings: &dyn SettingStore) -> Result<(), StartError> {
    let Some(known) = Known::read(settings).await? else { return Ok(()) };
    rollback_guard::abandon(settings, known.stamp).await.map_err(|error| StartError::Settings(error.to_string()))
}
