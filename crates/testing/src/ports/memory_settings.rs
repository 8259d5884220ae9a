use std::collections::BTreeMap;

use async_trait::async_trait;
use parking_lot::Mutex;
use usher_engine::ports::{SettingStore, StoreError};

#[derive(Default)]
pub struct MemorySettings(Mutex<BTreeMap<String, String>>);

impl MemorySettings {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

#[async_trait]
impl SettingStore for MemorySettings {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.0.lock().get(name).cloned())
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let mut settings = self.0.lock();
        match value {
            Some(value) => drop(settings.insert(name.to_owned(), value.to_owned())),
            None => drop(settings.remove(name)),
        }
        Ok(())
    }
}
