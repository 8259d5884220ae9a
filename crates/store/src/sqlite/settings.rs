//! Settings: small named values.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, params};
use usher_engine::ports::{SettingStore, StoreError};

use super::SqliteStore;
use super::failure::{During as _, SqliteFailure};
use crate::copy_mark::CopyMark;

#[async_trait]
impl SettingStore for SqliteStore {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let name = name.to_owned();
        self.read(move |connection| get(connection, &name)).await
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let (name, value) = (name.to_owned(), value.map(str::to_owned));
        self.write(move |connection| set(connection, &name, value.as_deref())).await
    }
}

pub(crate) fn get(connection: &Connection, name: &str) -> Result<Option<String>, SqliteFailure> {
    connection
        .prepare_cached("SELECT value FROM settings WHERE name = ?1")
        .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
        .during("read a setting")
}

/// The note of `usher store copy`. A database that is too old for settings, or has lost them, has none.
pub(crate) fn copy_mark(connection: &Connection) -> Result<Option<CopyMark>, SqliteFailure> {
    let has_settings = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'settings')";
    if !connection.query_row(has_settings, [], |row| row.get(0)).during("read a setting")? {
        return Ok(None);
    }
    let stored = get(connection, CopyMark::SETTING)?;
    Ok(stored.map(|stored| CopyMark::read(&stored)).transpose()?)
}

pub(crate) fn set(connection: &Connection, name: &str, value: Option<&str>) -> Result<(), SqliteFailure> {
    let changed = match value {
        Some(value) => connection
            .prepare_cached(
                "INSERT INTO settings (name, value) VALUES (?1, ?2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            )
            .and_then(|mut statement| statement.execute(params![name, value])),
        None => connection
            .prepare_cached("DELETE FROM settings WHERE name = ?1")
            .and_then(|mut statement| statement.execute([name])),
    };
    changed.during("change a setting").map(|_| ())
}
