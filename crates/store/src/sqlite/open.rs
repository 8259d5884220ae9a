//! Connections to a database, and their settings.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::execute::copy_mark;
use super::failure::{During as _, SqliteFailure};
use super::file::DatabaseFile;
use super::open_error::OpenError;
use super::options::SqliteOptions;
use super::schema::{self, MIGRATIONS};

/// How long a statement waits for another process's lock. No other process writes, but an operator's backup or
/// `sqlite3` shell may hold the file for a moment.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Prepared statements cached on each connection: more than exist, so that none is prepared twice.
const STATEMENTS: usize = 128;

/// Size of the write-ahead log at which the writer copies it into the database, in pages of 4 KiB: 16 MiB. Each page is
/// then copied once for many commits, and a start after a crash reads no more than this.
///
/// Only the writer copies it: a copy by another connection counts before it is on disk, and SQLite does not repeat it if the
/// disk fails.
const CHECKPOINT_PAGES: u32 = 4096;

/// Size to which the write-ahead log is truncated after readers delayed its checkpoint, in bytes.
const LOG_BYTES: u64 = 64 * 1024 * 1024;

/// The writing connection; migrates the database.
pub(crate) fn writer(file: &DatabaseFile, options: &SqliteOptions) -> Result<Connection, OpenError> {
    let path = file.path();
    let unusable = |failure| OpenError::unusable(path, failure);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(unusable)?;
    // Before any change: the file may belong to another program.
    let version = schema::inspect(&connection, MIGRATIONS).map_err(|error| OpenError::of_schema(path, error))?;
    if let Some(mark) = copy_mark(&connection).map_err(unusable)? {
        return Err(OpenError::Marked { path: path.to_owned(), mark });
    }
    file.restrict()?;
    if version == 0 {
        // Nothing is in it that a journal could restore: its first page is written and synchronised alone.
        let memory = connection.pragma_update_and_check(None, "journal_mode", "memory", |_| Ok(()));
        memory.during("configure the database").map_err(unusable)?;
    }
    configure_writer(&connection, options).during("configure the database").map_err(unusable)?;
    // A new schema is in the log, which the first commit synchronises as a whole.
    set_synchronous(&connection, version > 0).map_err(unusable)?;
    schema::update(&mut connection, version).map_err(|error| OpenError::of_schema(path, error))?;
    set_synchronous(&connection, true).map_err(unusable)?;
    let missing = schema::missing(&connection).map_err(unusable)?;
    if !missing.is_empty() {
        return Err(OpenError::Incomplete { path: path.to_owned(), missing });
    }
    Ok(connection)
}

/// A connection that does not migrate the schema.
pub(crate) fn existing(file: &DatabaseFile) -> Result<Connection, OpenError> {
    let path = file.path();
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|failure| OpenError::unusable(path, failure))
}

/// A reading connection, opened after the writer's.
pub(crate) fn reader(file: &DatabaseFile) -> Result<Connection, OpenError> {
    let unusable = |failure| OpenError::unusable(file.path(), failure);
    let connection = connect(file.path(), OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(unusable)?;
    // Opens the log, without which nothing can be read. Unlike a query, it does not parse the schema.
    schema::read_version(&connection).map_err(unusable)?;
    Ok(connection)
}

/// A connection to an existing file.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, SqliteFailure> {
    // One thread at a time uses a connection, so SQLite's own mutexes are not needed.
    let connection =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).during("open the database")?;
    connection.busy_timeout(BUSY_TIMEOUT).during("set the lock time-out")?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn configure_writer(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        // The file system has no shared memory; it is most likely a network one.
        return Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN),
            Some("the file system does not support write-ahead logging".to_owned()),
        ));
    }
    // On macOS, more than `fsync` is needed.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    // Removed data is overwritten with zeros instead of staying in the file until its space is reused.
    connection.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    set_cache(connection, options.writer_cache_kib)?;
    if let Some(bytes) = options.max_bytes {
        let page: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = bytes.checked_div(page).unwrap_or(u64::MAX).clamp(1, u64::from(u32::MAX - 1));
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(())
}

/// Whether a commit that is acknowledged is on disk.
fn set_synchronous(connection: &Connection, full: bool) -> Result<(), SqliteFailure> {
    connection.pragma_update(None, "synchronous", if full { "full" } else { "off" }).during("configure the database")
}

pub(super) fn set_cache(connection: &Connection, kib: u32) -> rusqlite::Result<()> {
    // Negative means KiB instead of pages.
    connection.pragma_update(None, "cache_size", -i64::from(kib))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_sync_every_commit() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = DatabaseFile::claim(&directory.path().join("usher.db")).unwrap();
        let writer = writer(&file, &SqliteOptions::default()).unwrap();
        let pragma = |name| writer.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(pragma("synchronous"), 2, "FULL");
        assert_eq!(pragma("fullfsync"), 1);
        assert_eq!(pragma("secure_delete"), 1);
        assert_eq!(pragma("wal_autocheckpoint"), i64::from(CHECKPOINT_PAGES));
        let mode: String = writer.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");

        let reader = reader(&file).unwrap();
        assert!(reader.execute_batch("DELETE FROM operations").is_err(), "readers only read");
    }
}
