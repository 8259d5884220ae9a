//! What a database of either engine shows when it is opened only for reading.

use async_trait::async_trait;
use usher_engine::ports::{
    AuditBounds, AuditEntry, AuditReader, DeliveryCounts, OperationKind, SettingStore, State, StoreError, TicketBalance,
};

use crate::postgres::PostgresInspection;
use crate::records::{audit_log, deliveries, operations, settings, tickets};
use crate::row::Answer;
use crate::sqlite::DatabaseInspection;
use crate::statement::{Query, params};

/// A database opened only for reading. Settings that are set stay as they are.
#[async_trait]
pub trait Inspection: AuditReader + SettingStore {
    /// The ticket wallet's balances, by mint and unit; none for an older schema.
    ///
    /// # Errors
    /// When the table cannot be read.
    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError>;

    /// The states of the open operations of a kind, without damaged rows.
    ///
    /// # Errors
    /// When the table cannot be read.
    async fn open_operations(&self, kind: OperationKind) -> Result<Vec<State>, StoreError>;

    /// The numbers of pending and given-up webhook deliveries.
    ///
    /// # Errors
    /// When the table cannot be read.
    async fn deliveries(&self) -> Result<DeliveryCounts, StoreError>;
}

/// Implements the trait for a type, with how it runs a query.
macro_rules! inspection {
    ($database:ident, |$this:ident, $query:ident| $run:expr) => {
        impl $database {
            async fn read(&self, $query: &Query) -> Result<Answer, StoreError> {
                let $this = self;
                Ok($run?)
            }
        }

        #[async_trait]
        impl Inspection for $database {
            async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
                let (version, known) = self.schema_version();
                if version < known {
                    return Ok(Vec::new());
                }
                Ok(tickets::balances(&self.read(&tickets::read_balances()).await?))
            }

            async fn open_operations(&self, kind: OperationKind) -> Result<Vec<State>, StoreError> {
                let found = self.read(&operations::OPEN_OF_KIND.with(params![kind.code()])).await?;
                Ok(found.rows.iter().filter_map(|row| row.string(0).ok().map(State)).collect())
            }

            async fn deliveries(&self) -> Result<DeliveryCounts, StoreError> {
                Ok(self.read(&deliveries::count()).await?.first(deliveries::counts)?.unwrap_or_default())
            }
        }

        #[async_trait]
        impl AuditReader for $database {
            async fn audit_entries(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
                Ok(audit_log::entries(&self.read(&audit_log::read_entries(after, limit)).await?))
            }

            async fn audit_bounds(&self) -> Result<AuditBounds, StoreError> {
                Ok(audit_log::bounds(&self.read(&audit_log::read_bounds()).await?))
            }
        }

        #[async_trait]
        impl SettingStore for $database {
            async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
                Ok(self.read(&settings::get(name)).await?.first(|row| row.string(0))?)
            }

            async fn set_setting(&self, _name: &str, _value: Option<&str>) -> Result<(), StoreError> {
                Ok(())
            }
        }

        usher_protocol::debug_shows!($database { version });
    };
}

inspection!(DatabaseInspection, |database, query| database.run(query));
inspection!(PostgresInspection, |database, query| database.run(query).await);
