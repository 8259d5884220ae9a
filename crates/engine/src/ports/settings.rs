//! The port that stores settings changed at run time.

use async_trait::async_trait;

use super::StoreError;

/// Small named values that survive a restart: relays added and removed at run time, what profile was published last.
///
/// Values are JSON: a check of the database finds others damaged. They are stored as they are.
#[async_trait]
pub trait SettingStore: Send + Sync {
    /// The value of `name`.
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError>;

    /// Sets the value of `name`, or removes it.
    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError>;
}
