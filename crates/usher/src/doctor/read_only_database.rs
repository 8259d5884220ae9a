//! A database opened read-only, of either engine. The check of the database reports what cannot be read.

use async_trait::async_trait;
use usher_engine::ports::{DeliveryCounts, OperationKind, SettingStore, State, StoreError, TicketBalance};
use usher_store::{DatabaseInspection, PostgresInspection};

pub(super) enum Inspection {
    Sqlite(DatabaseInspection),
    Postgres(PostgresInspection),
}

impl Inspection {
    /// Numbers of pending and given-up webhook deliveries.
    pub(super) async fn deliveries(&self) -> Option<DeliveryCounts> {
        match self {
            Self::Sqlite(database) => database.deliveries().ok(),
            Self::Postgres(database) => database.deliveries().await.ok(),
        }
    }

    /// The ticket wallet's balances, by mint and unit.
    pub(super) async fn ticket_balances(&self) -> Vec<TicketBalance> {
        match self {
            Self::Sqlite(database) => database.ticket_balances().ok(),
            Self::Postgres(database) => database.ticket_balances().await.ok(),
        }
        .unwrap_or_default()
    }

    pub(super) async fn open_operations(&self, kind: OperationKind) -> Vec<State> {
        match self {
            Self::Sqlite(database) => database.open_operations(kind).ok(),
            Self::Postgres(database) => database.open_operations(kind).await.ok(),
        }
        .unwrap_or_default()
    }
}

#[async_trait]
impl SettingStore for Inspection {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        match self {
            Self::Sqlite(database) => database.setting(name).await,
            Self::Postgres(database) => database.setting(name).await,
        }
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(database) => database.set_setting(name, value).await,
            Self::Postgres(database) => database.set_setting(name, value).await,
        }
    }
}
