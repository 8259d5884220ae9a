//! Settings: small named values.

use async_trait::async_trait;
use usher_engine::ports::{SettingStore, StoreError};

use super::query::{Query, params};
use super::{PostgresStore, columns};

#[async_trait]
impl SettingStore for PostgresStore {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let found = self.read("read a setting", "SELECT value FROM settings WHERE name = $1", params![name]).await?;
        Ok(found.rows.first().map(|row| columns::text(row, 0)).transpose()?)
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        const DURING: &str = "change a setting";
        const SET: &str = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        let query = match value {
            Some(value) => Query::new(DURING, SET, params![name, value]),
            None => Query::new(DURING, "DELETE FROM settings WHERE name = $1", params![name]),
        };
        self.queue.blind(vec![query]).await
    }
}
