//! Settings: small named values.

use async_trait::async_trait;
use usher_engine::ports::{SettingStore, StoreError};

use crate::engine::{Engine, SqlStore};
use crate::statement::{Query, Statement, params};

const GET: Statement = Statement::new("read a setting", "SELECT value FROM settings WHERE name = ?1");

const SET: Statement = Statement::new(
    "change a setting",
    "INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
);

const REMOVE: Statement = Statement::new("change a setting", "DELETE FROM settings WHERE name = ?1");

#[async_trait]
impl<E: Engine> SettingStore for SqlStore<E> {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.first(get(name), |row| row.string(0)).await
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.0.write_blind(vec![set(name, value)]).await
    }
}

pub(crate) fn get(name: &str) -> Query {
    GET.with(params![name])
}

pub(crate) fn set(name: &str, value: Option<&str>) -> Query {
    match value {
        Some(value) => SET.with(params![name, value]),
        None => REMOVE.with(params![name]),
    }
}
