//! Guards against starting with a copy of the node's data that is older than what this service had: a peer may take all
//! the money of a channel whose old state is published.
//!
//! A number grows with each start, each stop and every ten minutes. It is stored with the node's data and then in the
//! service's database. Data with a smaller number than the database's were restored from a backup, or are missing. A copy of *everything*
//! that is restored together cannot be told from the original.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::SettingStore;

use crate::node::StartError;
use crate::store::Store;

/// The name of the number in the service's database.
pub(crate) const SETTING: &str = "lightning.generation";

/// How often it grows.
pub(crate) const INTERVAL: Duration = Duration::from_secs(600);

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

    /// Refuses data that are older than what the service's database knows. Call this before the node is built.
    pub(crate) async fn check(&self) -> Result<(), StartError> {
        let here = self.store.generation().map_err(StartError::storage)?;
        let Some(settings) = &self.settings else { return Ok(()) };
        let there = settings.setting(SETTING).await.map_err(|error| StartError::Settings(error.to_string()))?;
        let there = there.and_then(|number| number.parse().ok()).unwrap_or(0);
        if here < there {
            return Err(StartError::Restored { here, there });
        }
        self.advance().await;
        Ok(())
    }

    /// Lets the number grow: first with the node's data, so that a crash in between refuses nothing.
    pub(crate) async fn advance(&self) {
        let Ok(next) = self.store.advance_generation() else { return };
        if let Some(settings) = &self.settings
            && let Err(error) = settings.set_setting(SETTING, Some(&next.to_string())).await
        {
            tracing::warn!(%error, "the guard against old Lightning data cannot be stored");
        }
    }
}
