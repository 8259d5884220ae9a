//! Errors of copying a store.

use std::io;
use std::path::PathBuf;

use usher_engine::ports::StoreError;

use crate::copy_mark::CopyMark;
use crate::damaged_row::DamagedRow;
use crate::postgres::{PostgresFailure, PostgresOpenError};
use crate::sqlite::{OpenError, SqliteFailure};

/// Why a store was not copied. The source is unchanged; the target is empty or an unfinished copy, which services
/// refuse.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source does not exist.
    #[error("there is no database of this program: {0}")]
    Missing(String),
    /// The SQLite file cannot be opened.
    #[error(transparent)]
    OpenSqlite(#[from] OpenError),
    /// The PostgreSQL database cannot be opened.
    #[error(transparent)]
    OpenPostgres(#[from] PostgresOpenError),
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] SqliteFailure),
    /// PostgreSQL failed.
    #[error(transparent)]
    Postgres(#[from] PostgresFailure),
    /// A storage port failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be used.
    #[error("cannot write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It was moved before, or is itself an unfinished copy.
    #[error("{place} {mark}")]
    Marked {
        /// The database.
        place: String,
        /// Its note.
        mark: CopyMark,
    },
    /// The copy would overwrite data.
    #[error("{place} is not empty ({what}); use an empty database, or a file that does not exist")]
    NotEmpty {
        /// The target.
        place: String,
        /// The existing data.
        what: String,
    },
    /// Another version of the program has made the schema.
    #[error(
        "{place} has schema version {found} and this program uses {known}: start the service of this version on it once, \
         which migrates it, and stop the service again"
    )]
    Version {
        /// The source.
        place: String,
        /// Its schema version.
        found: u32,
        /// The schema version of this program.
        known: u32,
    },
    /// The SQLite file is damaged.
    #[error("{} is damaged ({problem}): restore a backup, or recover it (docs/backup.md, Damage)", path.display())]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// The first problem, as reported by SQLite.
        problem: String,
    },
    /// Rows cannot be read.
    #[error(
        "{} damaged rows, such as {} of the table {}: restore them from a backup (docs/backup.md, Damage); `usher doctor` \
         lists them",
        rows.len(),
        rows.first().map_or("?", |row| &row.id),
        rows.first().map_or("?", |row| row.table)
    )]
    DamagedRows {
        /// The rows, at most 20.
        rows: Vec<DamagedRow>,
    },
    /// The tables differ.
    #[error("the schemas differ: {0}")]
    Schemas(String),
    /// The content of the copy differs from that of the source.
    #[error("the copy of the table {table} differs: {source_rows} rows in the source, {target_rows} in the copy")]
    Different {
        /// The table.
        table: String,
        /// The number of rows in the source.
        source_rows: u64,
        /// The number of rows in the copy.
        target_rows: u64,
    },
    /// An internal task failed.
    #[error("a task of the program failed")]
    Task,
}
