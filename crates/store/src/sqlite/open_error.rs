//! Errors of opening a database.

use std::io;
use std::path::{Path, PathBuf};

use super::failure::SqliteFailure;
use super::schema::SchemaError;
use crate::copy_mark::CopyMark;

/// Why a database was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file, its directory or a file beside it cannot be used.
    #[error("cannot open the database {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process uses it. Two services on one database would send everything twice.
    #[error("the database {} is in use by another process", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to another program.
    #[error("{} is not a database of this program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It was moved, or is an unfinished copy.
    #[error("the database {} {mark}", path.display())]
    Marked {
        /// The file.
        path: PathBuf,
        /// The mark of `usher store copy`.
        mark: CopyMark,
    },
    /// A newer version of the program has migrated it.
    #[error(
        "the database {} has schema version {found}, made by a newer version of this program; this one knows versions \
         up to {known}; run the newer version again, or restore the copy that was made before the upgrade",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: u32,
        /// The newest schema version known to this program.
        known: u32,
    },
    /// Tables, columns or indexes are missing: another program has changed it.
    #[error("the database {} is incomplete: {} missing", path.display(), list(missing))]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// Descriptions of the missing parts.
        missing: Vec<String>,
    },
    /// A migration failed and was rolled back.
    #[error("cannot migrate the database {} to schema version {version}", path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// The migration's number.
        version: u32,
        /// The failure.
        source: SqliteFailure,
    },
    /// SQLite cannot use the file: it is damaged, or its file system lacks a required feature.
    #[error("cannot use the database {}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The failure.
        source: SqliteFailure,
    },
    /// The operating system could not start a thread.
    #[error("cannot start a thread for the database")]
    Thread(#[source] io::Error),
}

/// The start of a sentence, with its verb.
fn list(missing: &[String]) -> String {
    match missing {
        [one] => format!("{one} is"),
        [first, rest @ ..] if rest.len() > 4 => format!("{first} and {} more are", rest.len()),
        many => format!("{} are", many.join(", ")),
    }
}

impl OpenError {
    pub(crate) fn unusable(path: &Path, source: SqliteFailure) -> Self {
        Self::Unusable { path: path.to_owned(), source }
    }

    pub(crate) fn of_schema(path: &Path, error: SchemaError) -> Self {
        let path = path.to_owned();
        match error {
            SchemaError::Foreign => Self::Foreign { path },
            SchemaError::Newer { found, known } => Self::Newer { path, found, known },
            SchemaError::Migration(version, source) => Self::Migration { path, version, source },
            SchemaError::Unreadable(source) => Self::Unusable { path, source },
        }
    }
}
