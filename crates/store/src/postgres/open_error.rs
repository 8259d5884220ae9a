//! Errors of opening a database.

use super::failure::PostgresFailure;
use crate::codec::Unreadable;
use crate::copy_mark::CopyMark;

/// Why a database was not opened. Never contains the URL or the password.
#[derive(Debug, thiserror::Error)]
pub enum PostgresOpenError {
    /// The URL is invalid.
    #[error("invalid database URL: {0}")]
    Url(&'static str),
    /// A trusted certificate cannot be used.
    #[error("invalid certificate")]
    Certificate(#[source] rustls::Error),
    /// Connecting or a statement failed.
    #[error("cannot use the database")]
    Unusable(#[from] PostgresFailure),
    /// PostgreSQL is older than 14.
    #[error("the database is PostgreSQL {}.{}; version 14 or newer is needed", version / 10_000, version % 10_000)]
    TooOld {
        /// `server_version_num`.
        version: i32,
    },
    /// Its encoding is not UTF-8.
    #[error("the database's encoding is {encoding}; it must be UTF8")]
    Encoding {
        /// Its encoding.
        encoding: String,
    },
    /// It has tables of another program.
    #[error("the database's schema is not empty and not of this program; use a database, or a schema, of its own")]
    Foreign,
    /// It was moved, or is an unfinished copy.
    #[error("the database {0}")]
    Marked(CopyMark),
    /// A newer version of the program has migrated it.
    #[error(
        "the database has schema version {found}, made by a newer version of this program; this one knows versions up to \
         {known}; run the newer version again, or restore the copy that was made before the upgrade"
    )]
    Newer {
        /// Its schema version.
        found: u32,
        /// The newest schema version known to this program.
        known: u32,
    },
    /// A migration failed and was rolled back.
    #[error("cannot migrate the database to schema version {version}")]
    Migration {
        /// The migration's number.
        version: u32,
        /// The failure.
        source: PostgresFailure,
    },
}

impl From<Unreadable> for PostgresOpenError {
    fn from(unreadable: Unreadable) -> Self {
        Self::Unusable(unreadable.into())
    }
}
