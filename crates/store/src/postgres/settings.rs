//! Settings: small named values.

use async_trait::async_trait;
use usher_engine::ports::{SettingStore, StoreError};

use super::failure::PostgresFailure;
use super::query::{Query, params};
use super::session::Session;
use super::{PostgresStore, columns, schema};
use crate::copy_mark::CopyMark;

pub(super) const GET: &str = "SELECT value FROM settings WHERE name = $1";

/// Stores a setting, or removes it.
pub(super) fn set(name: &str, value: Option<&str>) -> Query {
    const DURING: &str = "change a setting";
    const SET: &str = "INSERT INTO settings (name, value) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    match value {
        Some(value) => Query::new(DURING, SET, params![name, value]),
        None => Query::new(DURING, "DELETE FROM settings WHERE name = $1", params![name]),
    }
}

/// The note of `usher store copy`, also in a database of an older schema.
pub(super) async fn copy_mark(session: &Session) -> Result<Option<CopyMark>, PostgresFailure> {
    const SINCE: u32 = 4;
    if schema::version(session).await? < SINCE {
        return Ok(None);
    }
    let found = session.one(&Query::new("read a setting", GET, params![CopyMark::SETTING])).await?;
    let stored = found.rows.first().map(|row| columns::text(row, 0)).transpose()?;
    Ok(stored.map(|stored| CopyMark::read(&stored)).transpose()?)
}

#[async_trait]
impl SettingStore for PostgresStore {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let found = self.read("read a setting", GET, params![name]).await?;
        Ok(found.rows.first().map(|row| columns::text(row, 0)).transpose()?)
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.queue.blind(vec![set(name, value)]).await
    }
}
