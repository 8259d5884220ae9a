//! What only SQLite can get wrong: its file, its locks, its disk.

mod audit_log;
mod damaged_rows;
mod full_database;
mod lifecycle;
mod refused_databases;

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use usher_store::{OpenError, SqliteOptions, SqliteStore};

struct DatabaseFolder {
    directory: TempDir,
}

impl DatabaseFolder {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("usher.db")
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        self.directory.path().join(format!("usher.db{suffix}"))
    }

    fn open(&self) -> SqliteStore {
        open(&self.path()).unwrap()
    }

    /// The database as any SQLite program sees it.
    fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, SqliteOptions::default())
}

fn refused(path: &Path) -> OpenError {
    match open(path) {
        Ok(_) => panic!("should have been refused"),
        Err(error) => error,
    }
}
