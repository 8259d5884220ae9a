//! Failures of SQLite, and their conversion to errors of the port.

use std::sync::Arc;

use rusqlite::Error;
use usher_engine::ports::StoreError;

use crate::codec::Unreadable;

/// A failure of SQLite: the source inside [`StoreError::Failed`].
///
/// Names statements and columns, never values, which may be secrets. Cloneable, because a failed `COMMIT` fails every
/// commit that shared it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SqliteFailure {
    /// SQLite returned an error.
    #[error("could not {during}")]
    Sqlite {
        /// The action that failed.
        during: &'static str,
        /// SQLite's error.
        source: Arc<Error>,
    },
    /// A conditional write changed another number of rows than it had just read.
    #[error("could not {during}: {changed} rows changed where one should have")]
    RowCount {
        /// The action that failed.
        during: &'static str,
        /// The number of rows it changed.
        changed: usize,
    },
    /// Stored data cannot be interpreted.
    #[error("cannot read {0}")]
    Unreadable(&'static str),
}

impl SqliteFailure {
    /// Converts an error of the action `during`.
    pub(crate) fn new(during: &'static str, error: Error) -> Self {
        match error {
            // The statement ran; the value has a type or range that this program never writes.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(_) => Self::Unreadable("a column"),
            source => Self::Sqlite { during, source: Arc::new(source) },
        }
    }

    /// Whether SQLite found the file damaged, which can affect any page and not only a row.
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
            // A retry would have the same result.
            SqliteFailure::RowCount { during, .. } => Self::Unreadable(during),
            failure @ SqliteFailure::Sqlite { .. } => Self::Failed(Box::new(failure)),
        }
    }
}

/// Adds the action to an error of SQLite.
pub(crate) trait During<T> {
    fn during(self, during: &'static str) -> Result<T, SqliteFailure>;
}

impl<T> During<T> for Result<T, Error> {
    fn during(self, during: &'static str) -> Result<T, SqliteFailure> {
        self.map_err(|error| SqliteFailure::new(during, error))
    }
}
