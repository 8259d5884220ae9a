use async_trait::async_trait;

use super::StoreError;

/// Small named values that survive a restart. They are JSON: a check of the database reports others as damaged.
#[async_trait]
pub trait SettingStore: Send + Sync {
    /// The value of `name`.
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError>;

    /// Sets the value of `name`, or removes it.
    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError>;
}
