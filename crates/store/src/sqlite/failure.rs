//! Failures of SQLite, and the errors of the port that they become.

use std::sync::Arc;

use rusqlite::Error;
use usher_engine::ports::StoreError;

use crate::codec::Unreadable;

/// Why SQLite could not do it: the source inside [`StoreError::Failed`].
///
/// Names statements and columns, never values: rows hold secrets. It can be cloned since one failed `COMMIT` is the
/// failure of every commit that shared it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SqliteFailure {
    /// SQLite returned an error.
    #[error("could not {during}")]
    Sqlite {
        /// What was being done.
        during: &'static str,
        /// SQLite's error.
        source: Arc<Error>,
    },
    /// A conditional write changed another number of rows than the one it had just looked at.
    #[error("could not {during}: {changed} rows changed where one should have")]
    RowCount {
        /// What was being done.
        during: &'static str,
        /// How many rows it changed.
        changed: usize,
    },
    /// Stored data cannot be interpreted.
    #[error("cannot read {0}")]
    Unreadable(&'static str),
}

impl SqliteFailure {
    /// What `error` means when it comes while doing this.
    pub(crate) fn new(during: &'static str, error: Error) -> Self {
        match error {
            // The statement ran; what it found has another type or range than we ever write.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(_) => Self::Unreadable("a column"),
            source => Self::Sqlite { during, source: Arc::new(source) },
        }
    }

    /// Whether SQLite has found the file itself damaged, which is more than a row: any other page may be, too.
    pub fn is_corruption(&self) -> bool {
        match self {
            Self::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
            ),
            Self::RowCount { .. } | Self::Unreadable(_) => false,
        }
    }
}

impl From<Unreadable> for SqliteFailure {
    fn from(Unreadable(what): Unreadable) -> Self {
        Self::Unreadable(what)
    }
}

impl From<SqliteFailure> for StoreError {
    fn from(failure: SqliteFailure) -> Self {
        match failure {
            SqliteFailure::Unreadable(what) => Self::Unreadable(what),
            // Trying again would find the same.
            SqliteFailure::RowCount { during, .. } => Self::Unreadable(during),
            failure @ SqliteFailure::Sqlite { .. } => Self::Failed(Box::new(failure)),
        }
    }
}

/// Adds what was being done when SQLite failed.
pub(crate) trait During<T> {
    /// Wraps the error.
    fn during(self, during: &'static str) -> Result<T, SqliteFailure>;
}

impl<T> During<T> for Result<T, Error> {
    fn during(self, during: &'static str) -> Result<T, SqliteFailure> {
        self.map_err(|error| SqliteFailure::new(during, error))
    }
}
