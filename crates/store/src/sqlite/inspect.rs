//! Inspects a database without changing it, even while a service uses it: for `usher doctor`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use usher_engine::ports::{State, TicketBalance};

use super::failure::{During as _, SqliteFailure};
use super::open_error::OpenError;
use super::schema::{self, MIGRATIONS};
use super::{execute, file};
use crate::copy_mark::CopyMark;
use crate::damaged_row::DamagedRow;
use crate::damaged_rows::{self, Found};
use crate::records::tickets;
use crate::row::Answer;
use crate::statement::Query;

/// How long a read waits for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Most problems listed.
const MAX_PROBLEMS: usize = 20;

/// A database opened read-only. Neither the file nor its lock is changed, so a service can start meanwhile.
pub struct DatabaseInspection {
    connection: Mutex<Connection>,
    pub(crate) version: u32,
}

/// The result of a check of the whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Every page and index is correct.
    Whole,
    /// At most 20 problems, as reported by SQLite.
    Damaged(Vec<String>),
    /// The time limit was exceeded.
    NotFinished,
}

impl DatabaseInspection {
    /// Opens the existing database at `path`.
    ///
    /// # Errors
    /// [`OpenError`]: it belongs to another program or a newer version, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        // Opening a named pipe would block, and SQLite's error for a directory gives no reason.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
        }
        // SQLite's error gives no reason; the system's does.
        drop(fs::File::open(path).map_err(failed)?);
        let unusable = |source| OpenError::Unusable { path: path.to_owned(), source };
        let connection = connect(path).during("open the database").map_err(unusable)?;
        connection.busy_timeout(BUSY_TIMEOUT).during("set the lock time-out").map_err(unusable)?;
        let version = schema::inspect(&connection, MIGRATIONS).map_err(|error| OpenError::of_schema(path, error))?;
        Ok(Self { connection: Mutex::new(connection), version })
    }

    /// The schema's version, and this program's, to which the service migrates it at the start.
    pub fn schema_version(&self) -> (u32, u32) {
        (self.version, schema::known_version())
    }

    /// Whether a process has the database at this path open; `None` if that cannot be determined.
    pub fn is_in_use(path: &Path) -> Option<bool> {
        file::is_in_use(path)
    }

    /// The mark of `usher store copy`.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn copy_mark(&self) -> Result<Option<CopyMark>, SqliteFailure> {
        execute::copy_mark(&self.connection.lock())
    }

    /// Descriptions of missing tables, columns and indexes; an older schema is not checked.
    ///
    /// # Errors
    /// When the schema cannot be read.
    pub fn missing(&self) -> Result<Vec<String>, SqliteFailure> {
        if self.version < schema::known_version() { Ok(Vec::new()) } else { schema::missing(&self.connection.lock()) }
    }

    /// Checks every page of the file, for at most `limit`.
    ///
    /// # Errors
    /// When the check itself fails.
    pub fn integrity(&self, limit: Duration) -> Result<Integrity, SqliteFailure> {
        let connection = self.connection.lock();
        let interrupt = connection.get_interrupt_handle();
        let (done, waiting) = mpsc::channel::<()>();
        let checked = std::thread::scope(|scope| {
            scope.spawn(move || {
                if waiting.recv_timeout(limit).is_err_and(|error| error == mpsc::RecvTimeoutError::Timeout) {
                    interrupt.interrupt();
                }
            });
            let checked = quick_check(&connection);
            drop(done);
            checked
        });
        match checked {
            Ok(lines) if lines == ["ok"] => Ok(Integrity::Whole),
            Ok(lines) => Ok(Integrity::Damaged(lines)),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                Ok(Integrity::NotFinished)
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                Ok(Integrity::Damaged(vec!["the file is malformed".to_owned()]))
            }
            Err(error) => Err(error).during("check the database"),
        }
    }

    /// At most 20 damaged rows, by their columns or because `readable` rejects an open operation's state, and the
    /// number of open operations. Rows of an older schema are not checked.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn damaged_rows(&self, readable: impl Fn(&State) -> bool) -> Result<(u64, Vec<DamagedRow>), SqliteFailure> {
        if self.version < schema::known_version() {
            return Ok((0, Vec::new()));
        }
        damaged_rows(&self.connection.lock(), MAX_PROBLEMS, readable)
    }

    /// The ticket wallet's balances, by mint and unit; none for an older schema.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn ticket_balances(&self) -> Result<Vec<TicketBalance>, SqliteFailure> {
        if self.version < schema::known_version() {
            return Ok(Vec::new());
        }
        Ok(tickets::balances(&self.run(&tickets::read_balances())?))
    }

    pub(crate) fn run(&self, query: &Query) -> Result<Answer, SqliteFailure> {
        execute::run(&self.connection.lock(), query)
    }
}

/// The number of open operations, and at most `limit` damaged rows: by their columns, or because `readable` rejects an
/// open operation's state.
pub(super) fn damaged_rows(
    connection: &Connection,
    limit: usize,
    readable: impl Fn(&State) -> bool,
) -> Result<(u64, Vec<DamagedRow>), SqliteFailure> {
    let mut found = Found::new(limit);
    for check in damaged_rows::CHECKS.iter() {
        execute::stream(connection, damaged_rows::DURING, &check.sql(), |row| {
            if !found.is_full() {
                found.check(check, &row);
            }
            Ok(!found.is_full())
        })?;
    }
    execute::stream(connection, damaged_rows::DURING, damaged_rows::OPEN, |row| {
        found.check_open(&row, &readable);
        Ok(true)
    })?;
    Ok(found.result())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Without a write-ahead log no process has it open, and the file is complete: opened as immutable, SQLite creates
    // no log files, which would remain.
    match (beside(path, "-wal").exists(), uri(path)) {
        (false, Some(uri)) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI),
        _ => Connection::open_with_flags(path, flags),
    }
}

fn quick_check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({MAX_PROBLEMS})"))?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The path as a URI of an immutable file; `None` if it cannot be written as one.
fn uri(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let escaped = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Some(format!("file:{escaped}?immutable=1"))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use usher_engine::StreamId;
    use usher_engine::ports::{DeliveryCounts, SettingStore as _};

    use super::super::{SqliteOptions, SqliteStore};
    use super::*;
    use crate::Inspection as _;

    fn files(folder: &Path) -> Vec<std::ffi::OsString> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn inspection_changes_nothing_with_and_without_a_service() {
        let folder = tempfile::TempDir::new().unwrap();
        // A name that needs escaping in a URI.
        let path = folder.path().join("50%?#.db");
        assert!(matches!(DatabaseInspection::open(&path), Err(OpenError::File { .. })));
        assert_eq!(files(folder.path()).len(), 0);

        let store = SqliteStore::open(&path, SqliteOptions::default()).unwrap();
        store.set_setting("x", Some("1")).await.unwrap();
        let inspection = DatabaseInspection::open(&path).unwrap();
        assert_eq!(inspection.setting("x").await.unwrap().as_deref(), Some("1"), "also what is in the log only");
        assert_eq!(inspection.integrity(Duration::from_secs(60)).unwrap(), Integrity::Whole);
        drop(inspection);
        store.close().await;
        drop(store);

        let before = files(folder.path());
        let inspection = DatabaseInspection::open(&path).unwrap();
        inspection.set_setting("x", None).await.unwrap();
        assert_eq!(inspection.setting("x").await.unwrap().as_deref(), Some("1"));
        let (version, known) = inspection.schema_version();
        assert!(version == known && known > 0);
        assert_eq!(inspection.damaged_rows(|_| true).unwrap(), (0, Vec::new()));
        assert_eq!(inspection.deliveries().await.unwrap(), DeliveryCounts { pending: 0, failed: 0 });
        drop(inspection);
        assert_eq!(files(folder.path()), before, "nothing is left behind");
        // A service can start while it is open.
        let _inspection = DatabaseInspection::open(&path).unwrap();
        SqliteStore::open(&path, SqliteOptions::default()).unwrap().close().await;
    }

    #[tokio::test]
    async fn inspection_finds_damage() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("usher.db");
        SqliteStore::open(&path, SqliteOptions::default()).unwrap().close().await;
        let connection = Connection::open(&path).unwrap();
        let insert = |id: &[u8], kind: u8, state: &str| {
            let sql = "INSERT INTO operations (id, kind, state, revision, next_index, outbox, correlations, done)
                VALUES (?1, ?2, ?3, 1, 0, 0, x'', 0)";
            connection.execute(sql, rusqlite::params![id, kind, state]).unwrap();
        };
        insert(&[1; 16], 1, "good");
        insert(&[2; 16], 1, "bad");
        insert(&[3; 16], 200, "good");
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'operations'";
        let page: usize = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        drop(connection);

        let inspection = DatabaseInspection::open(&path).unwrap();
        let (open, damaged) = inspection.damaged_rows(|state| state.0 == "good").unwrap();
        let of = |byte| DamagedRow { table: "operations", id: StreamId::from_bytes([byte; 16]).to_string() };
        // The store reports the unknown kind, and the engine the state.
        assert_eq!((open, damaged), (3, vec![of(3), of(2)]));
        drop(inspection);

        // Overwrites a page. Pages are numbered from 1.
        let mut bytes = fs::read(&path).unwrap();
        bytes[(page - 1) * 4096..page * 4096].fill(0x5a);
        fs::write(&path, bytes).unwrap();
        let inspection = DatabaseInspection::open(&path).unwrap();
        assert!(matches!(inspection.integrity(Duration::from_secs(60)).unwrap(), Integrity::Damaged(_)));
    }
}
