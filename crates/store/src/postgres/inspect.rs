//! Inspects a database without changing it, even while instances use it: for `usher doctor`.

use futures_util::TryStreamExt as _;

use super::failure::PostgresFailure;
use super::open_error::PostgresOpenError;
use super::options::{Address, PostgresOptions};
use super::schema;
use super::session::Session;
use crate::copy_mark::CopyMark;
use crate::damaged_row::{DamagedRow, StateCheck};
use crate::damaged_rows::{self, Found};
use crate::records::settings;
use crate::row::Answer;
use crate::statement::Query;

/// Reading every row of a large table may take long.
const SETTINGS: &str = "SET default_transaction_read_only = on; SET statement_timeout = 0; SET enable_seqscan = on";

/// Most problems listed.
const MAX_PROBLEMS: usize = 20;

/// A PostgreSQL database opened only for reading.
pub struct PostgresInspection {
    session: Session,
    pub(crate) version: u32,
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

    /// The schema's version, and this program's, to which an instance migrates it when it becomes active.
    pub fn schema_version(&self) -> (u32, u32) {
        (self.version, schema::known_version())
    }

    /// The mark of `usher store copy`.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub async fn copy_mark(&self) -> Result<Option<CopyMark>, PostgresFailure> {
        copy_mark(&self.session).await
    }

    /// At most 20 damaged rows, by their columns or because `readable` rejects an open operation's state, and the
    /// number of open operations. Rows of an older schema are not checked.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub async fn damaged_rows(&self, readable: StateCheck) -> Result<(u64, Vec<DamagedRow>), PostgresFailure> {
        if self.version < schema::known_version() {
            return Ok((0, Vec::new()));
        }
        damaged_rows(&self.session, MAX_PROBLEMS, readable).await
    }

    pub(crate) async fn run(&self, query: &Query) -> Result<Answer, PostgresFailure> {
        self.session.one(query).await
    }
}

/// The mark of `usher store copy`, also in a database of an older schema.
pub(super) async fn copy_mark(session: &Session) -> Result<Option<CopyMark>, PostgresFailure> {
    const SINCE: u32 = 4;
    if schema::version(session).await? < SINCE {
        return Ok(None);
    }
    let found = session.one(&settings::get(CopyMark::SETTING)).await?;
    Ok(found.first(|row| CopyMark::read(row.text(0)?))?)
}

/// The number of open operations, and at most `limit` damaged rows: by their columns, or because `readable` rejects an
/// open operation's state.
pub(super) async fn damaged_rows(
    session: &Session,
    limit: usize,
    readable: StateCheck,
) -> Result<(u64, Vec<DamagedRow>), PostgresFailure> {
    let mut found = Found::new(limit);
    for check in &damaged_rows::CHECKS {
        let mut rows = std::pin::pin!(session.stream(damaged_rows::DURING, &check.sql()).await?);
        while !found.is_full()
            && let Some(row) = rows.try_next().await?
        {
            found.check(check, &row);
        }
    }
    let mut rows = std::pin::pin!(session.stream(damaged_rows::DURING, damaged_rows::OPEN).await?);
    while let Some(row) = rows.try_next().await? {
        found.check_open(&row, readable);
    }
    Ok(found.result())
}
