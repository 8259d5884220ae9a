//! Inspects a database without changing it, even while instances use it: for `usher doctor`.

use async_trait::async_trait;
use usher_engine::ports::{DeliveryCounts, OperationKind, SettingStore, State, StoreError, TicketBalance};

use super::failure::PostgresFailure;
use super::open_error::PostgresOpenError;
use super::options::{Address, PostgresOptions};
use super::query::{Answer, Param, Query, params};
use super::session::Session;
use super::{columns, damaged_rows, deliveries, schema, settings, tickets};
use crate::copy_mark::CopyMark;
use crate::damaged_row::{DamagedRow, StateCheck};

/// Reading every row of a large table takes its time.
const SETTINGS: &str = "SET default_transaction_read_only = on; SET statement_timeout = 0; SET enable_seqscan = on";

/// Most problems that are listed: the first ones say enough.
const MAX_PROBLEMS: usize = 20;

/// A PostgreSQL database opened only for reading.
pub struct PostgresInspection {
    session: Session,
    version: u32,
}

impl PostgresInspection {
    /// Connects. `None` if no instance has used the database yet.
    ///
    /// # Errors
    /// [`PostgresOpenError`]: it belongs to another program or a newer version, or there is no connection.
    pub async fn open(options: &PostgresOptions) -> Result<Option<Self>, PostgresOpenError> {
        let session = Session::connect(&Address::new(options)?).await?;
        session.script("configure a connection", SETTINGS).await?;
        if !schema::has_base(&session).await? {
            return Ok(None);
        }
        let version = schema::version(&session).await?;
        let known = schema::known_version();
        if version > known {
            return Err(PostgresOpenError::Newer { found: version, known });
        }
        Ok((version > 0).then_some(Self { session, version }))
    }

    /// The schema's version, and the one that this program brings it to when an instance becomes active.
    pub fn schema_version(&self) -> (u32, u32) {
        (self.version, schema::known_version())
    }

    /// What `usher store copy` has noted in it.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub async fn copy_mark(&self) -> Result<Option<CopyMark>, PostgresFailure> {
        settings::copy_mark(&self.session).await
    }

    /// Damaged rows, at most 20: by their columns, or because `readable` does not take an open operation's state. Returns
    /// also how many operations are open. A database of an older schema is not looked at row by row.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub async fn damaged_rows(&self, readable: StateCheck) -> Result<(u64, Vec<DamagedRow>), PostgresFailure> {
        if self.version < schema::known_version() {
            return Ok((0, Vec::new()));
        }
        damaged_rows::damaged_rows(&self.session, MAX_PROBLEMS, readable).await
    }

    /// What the ticket wallet holds, by mint and unit. Nothing in a database of an older schema.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, PostgresFailure> {
        if self.version < schema::known_version() {
            return Ok(Vec::new());
        }
        let sums = self.read("sum up the proofs", tickets::BALANCES, params![]).await?;
        Ok(sums.rows.iter().filter_map(|row| tickets::balance(row).ok()).collect())
    }

    /// The states of the open operations of a kind. Damaged rows are left out.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub async fn open_operations(&self, kind: OperationKind) -> Result<Vec<State>, PostgresFailure> {
        const OPEN: &str = "SELECT state FROM operations WHERE finished_at IS NULL AND kind = $1";
        let found = self.read("read the open operations", OPEN, params![kind.code()]).await?;
        Ok(found.rows.iter().filter_map(|row| columns::text(row, 0).ok().map(State)).collect())
    }

    /// Webhook deliveries that wait, and those that were given up.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub async fn deliveries(&self) -> Result<DeliveryCounts, PostgresFailure> {
        deliveries::counts(&self.read("count deliveries", deliveries::COUNT, params![]).await?)
    }

    pub(super) async fn read(
        &self,
        during: &'static str,
        sql: &'static str,
        params: Vec<Param>,
    ) -> Result<Answer, PostgresFailure> {
        self.session.one(&Query::new(during, sql, params)).await
    }
}

/// Only reads; never writes.
#[async_trait]
impl SettingStore for PostgresInspection {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let found = self.read("read a setting", settings::GET, params![name]).await?;
        Ok(found.rows.first().map(|row| columns::text(row, 0)).transpose()?)
    }

    async fn set_setting(&self, _name: &str, _value: Option<&str>) -> Result<(), StoreError> {
        Ok(())
    }
}

impl std::fmt::Debug for PostgresInspection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresInspection").field("version", &self.version).finish_non_exhaustive()
    }
}
