//! What the operator decides about data that the guard against old copies (`generation.rs`) refuses: gives up a node whose data
//! are lost, so that a new one may start, or takes over data that the service's database does not know.

use std::path::Path;

use usher_engine::ports::SettingStore;

use crate::generation::{self, SETTING};
use crate::node::StartError;
use crate::store::{FILE, Store};

/// What there is of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataState {
    /// The service never had one, or has given it up.
    None,
    /// Its data, be they new or old.
    Present,
    /// There are data, and the service's database does not know them.
    Unknown,
    /// The service had one, and its data are not there.
    Lost,
}

/// Whether the data of the service's node are lost. The service must not run.
///
/// # Errors
/// If a process uses the folder, or it or the service's database cannot be read.
pub async fn data_state(folder: &Path, settings: &dyn SettingStore) -> Result<DataState, StartError> {
    let known = generation::stored(settings).await?;
    // A start that was refused leaves a file without data.
    if folder.join(FILE).exists() {
        let store = Store::open(folder)?;
        let has_entries = store.has_entries();
        store.close();
        if has_entries.map_err(StartError::storage)? {
            return Ok(if known.is_some() { DataState::Present } else { DataState::Unknown });
        }
    }
    Ok(if known.is_some() { DataState::Lost } else { DataState::None })
}

/// Takes over data that the service's database does not know. They must be the newest. The service must not run.
///
/// # Errors
/// If a process uses the folder, or it or the service's database cannot be used.
pub async fn adopt(folder: &Path, settings: &dyn SettingStore) -> Result<(), StartError> {
    let store = Store::open(folder)?;
    let stamp = *store.stamp().borrow();
    store.close();
    generation::set(settings, stamp).await.map_err(|error| StartError::Settings(error.to_string()))
}

/// Forgets the node whose data are lost: the next start makes a new one.
///
/// # Errors
/// If the service's database cannot be written.
pub async fn give_up(settings: &dyn SettingStore) -> Result<(), StartError> {
    settings.set_setting(SETTING, None).await.map_err(|error| StartError::Settings(error.to_string()))
}
