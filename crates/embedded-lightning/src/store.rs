//! The node's storage: one SQLite file, whose every write is on disk before it is acknowledged.
//!
//! It has the library's key-value pairs and the adapter's own records (`payment_records.rs`). After a failed write, all
//! later writes fail: the library's memory may be ahead of the disk, and only a restart makes them consistent.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use ldk_node::lightning::io as ldk_io;
use ldk_node::lightning::util::persist::{KVStore, KVStoreSync};
use parking_lot::Mutex;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};
use tokio::sync::watch;

/// The file in the node's folder.
pub(crate) const FILE: &str = "lightning.db";

/// The library's namespace for channel monitors, from the funding of a channel until long after its end.
pub(crate) const MONITORS: &str = "monitors";

/// The library's namespace for updates of a channel monitor, between two full writes.
const MONITOR_UPDATES: &str = "monitor_updates";

/// The library's key for its list of channels.
const CHANNEL_MANAGER: &str = "manager";

/// Locked while a process uses the folder.
const LOCK: &str = "lock";

/// The version of the tables below.
const VERSION: i64 = 5;

const TABLES: &str = "
    CREATE TABLE entries (
        primary_namespace TEXT NOT NULL,
        secondary_namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (primary_namespace, secondary_namespace, key)
    );
    CREATE TABLE sent_payments (
        payment_hash BLOB PRIMARY KEY,
        request TEXT NOT NULL,
        expires_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        preimage BLOB,
        fees INTEGER,
        reason TEXT,
        changed_at INTEGER NOT NULL
    );
    CREATE TABLE invoices (
        payment_hash BLOB PRIMARY KEY,
        expires_at INTEGER NOT NULL,
        reserved_inbound INTEGER NOT NULL
    );
    CREATE INDEX reserving_invoices ON invoices (expires_at) WHERE reserved_inbound > 0;
    CREATE TABLE channels (channel BLOB PRIMARY KEY, state TEXT NOT NULL, changed_at INTEGER NOT NULL, channel_id BLOB);
    CREATE TABLE openings (key BLOB PRIMARY KEY, peer TEXT NOT NULL, amount INTEGER NOT NULL, channel BLOB, monitors TEXT);
    CREATE TABLE skimmed_fees (payment_hash BLOB PRIMARY KEY, fee INTEGER NOT NULL);
    CREATE TABLE generation (number INTEGER NOT NULL);
    INSERT INTO generation VALUES (0);
    CREATE TABLE owner (seed TEXT NOT NULL, network TEXT NOT NULL);
";

/// From version 1 to 2, and so on.
const UPGRADES: [&str; 4] = [
    "ALTER TABLE openings ADD COLUMN monitors TEXT;",
    "CREATE TABLE owner (seed TEXT NOT NULL, network TEXT NOT NULL);",
    "ALTER TABLE channels ADD COLUMN channel_id BLOB;",
    SENDS,
];

const SENDS: &str = "
    CREATE TABLE sends (
        id TEXT PRIMARY KEY,
        raw BLOB NOT NULL,
        amount INTEGER NOT NULL,
        fee INTEGER NOT NULL,
        state TEXT NOT NULL,
        changed_at INTEGER NOT NULL
    );";

/// Writes an entry.
const SET: &str = "INSERT OR REPLACE INTO entries VALUES (?1, ?2, ?3, ?4)";

/// Removes an entry.
const DELETE: &str = "DELETE FROM entries WHERE primary_namespace = ?1 AND secondary_namespace = ?2 AND key = ?3";

/// Why the storage cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses it.
    #[error("another process uses it: only one may run a node at a time, or its money is lost")]
    InUse,
    /// It was written by a newer version of the program.
    #[error("a newer version of this program wrote it (version {0}, this one knows {VERSION})")]
    Newer(i64),
    /// The folder or file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Parts of it are inconsistent, or the disk has corrupted it.
    #[error("the database in it is damaged: {0}")]
    Damaged(String),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

pub(crate) struct Store {
    pub(crate) connection: Mutex<Connection>,
    failed: AtomicBool,
    /// Held until the store is closed; the lock ends with the process.
    lock: Mutex<Option<File>>,
    /// The newest stamp (`rollback_guard.rs`).
    stamp: watch::Sender<u64>,
}

impl Store {
    /// Opens the storage in `folder`, which is created if necessary.
    pub(crate) fn open(folder: &Path) -> Result<Self, OpenError> {
        std::fs::create_dir_all(folder)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        }
        let lock = File::create(folder.join(LOCK))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::InUse,
            TryLockError::Error(error) => OpenError::Io(error),
        })?;
        let connection = Connection::open(folder.join(FILE))?;
        let problem: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if problem != "ok" {
            return Err(OpenError::Damaged(problem));
        }
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        match connection.query_row("PRAGMA user_version", [], |row| row.get(0))? {
            0 => connection
                .execute_batch(&format!("BEGIN; {TABLES} {SENDS} PRAGMA user_version = {VERSION}; COMMIT;"))?,
            version @ 1..VERSION => {
                let steps: String =
                    (1..).zip(UPGRADES).filter_map(|(from, step)| (from >= version).then_some(step)).collect();
                connection.execute_batch(&format!("BEGIN; {steps} PRAGMA user_version = {VERSION}; COMMIT;"))?;
            }
            VERSION => {}
            newer => return Err(OpenError::Newer(newer)),
        }
        let stamp = connection.query_row("SELECT number FROM generation", [], |row| row.get(0))?;
        Ok(Self {
            connection: Mutex::new(connection),
            failed: AtomicBool::new(false),
            lock: Mutex::new(Some(lock)),
            stamp: watch::Sender::new(stamp),
        })
    }

    /// Whether a write has failed or the store is closed, so that the node must stop.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Releases the folder. Parts of the library may outlive it; they can no longer write.
    pub(crate) fn close(&self) {
        let connection = self.connection.lock();
        self.failed.store(true, Ordering::Release);
        // Moves everything into one file. The library keeps the connection open.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        drop(connection);
        drop(self.lock.lock().take());
    }

    /// Runs one write. A fail point can end the process before it, or make it fail.
    pub(crate) fn change<T>(&self, write: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> io::Result<T> {
        fail::fail_point!("before-lightning-write", |action| {
            if action.is_none() {
                std::process::abort();
            }
            self.failed.store(true, Ordering::Release);
            Err(io::Error::other("a write failed on purpose"))
        });
        let connection = self.connection.lock();
        if self.has_failed() {
            return Err(io::Error::other("an earlier write failed, or the node has stopped"));
        }
        write(&connection).map_err(|error| {
            self.failed.store(true, Ordering::Release);
            tracing::error!(%error, "the Lightning node cannot store its state and stops until the next start");
            io::Error::other(error)
        })
    }

    /// Runs one write of one statement; returns how many rows it has changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> io::Result<usize> {
        self.change(|connection| connection.prepare_cached(sql)?.execute(params))
    }

    /// The first row.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> io::Result<Option<T>> {
        let connection = self.connection.lock();
        let query = connection.prepare_cached(sql);
        query.and_then(|mut query| query.query_row(params, read).optional()).map_err(io::Error::other)
    }

    /// The only value of the only row.
    pub(crate) fn value_of<T: FromSql>(&self, sql: &str, params: impl Params) -> io::Result<T> {
        let value = self.first(sql, params, |row| row.get(0))?;
        value.ok_or_else(|| io::Error::other(rusqlite::Error::QueryReturnedNoRows))
    }

    /// All rows.
    pub(crate) fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> io::Result<C> {
        let connection = self.connection.lock();
        let query = connection.prepare_cached(sql);
        query.and_then(|mut query| query.query_map(params, read)?.collect()).map_err(io::Error::other)
    }

    pub(crate) fn has_entries(&self) -> io::Result<bool> {
        self.value_of("SELECT EXISTS (SELECT 1 FROM entries)", [])
    }

    /// Whether the library has stored its list of channels, which contains the last processed block.
    pub(crate) fn has_channel_manager(&self) -> io::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM entries WHERE primary_namespace = '' AND secondary_namespace = '' AND key = ?1)";
        self.value_of(sql, [CHANNEL_MANAGER])
    }

    /// The library's list of channels, as serialised by it.
    pub(crate) fn channel_manager(&self) -> io::Result<Option<Vec<u8>>> {
        match self.value("", "", CHANNEL_MANAGER) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == ldk_io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The newest stamp of the data (`rollback_guard.rs`).
    pub(crate) fn stamp(&self) -> watch::Receiver<u64> {
        self.stamp.subscribe()
    }

    /// Stamps the data with a number above `least`, which is returned.
    pub(crate) fn advance_stamp(&self, least: u64) -> io::Result<u64> {
        let stamp = self.change(|connection| {
            connection.execute("UPDATE generation SET number = max(number, ?1)", [least])?;
            advance(connection)
        })?;
        self.stamp.send_replace(stamp);
        Ok(stamp)
    }

    /// The owner of the data: a fingerprint of the seed, and the network.
    pub(crate) fn owner(&self) -> io::Result<Option<(String, String)>> {
        self.first("SELECT seed, network FROM owner", [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Stores the owner of the data, once.
    pub(crate) fn set_owner(&self, seed: &str, network: &str) -> io::Result<()> {
        self.execute("INSERT INTO owner VALUES (?1, ?2)", [seed, network]).map(drop)
    }

    pub(crate) fn value(&self, primary: &str, secondary: &str, key: &str) -> Result<Vec<u8>, ldk_io::Error> {
        let sql = "SELECT value FROM entries WHERE primary_namespace = ?1 AND secondary_namespace = ?2 AND key = ?3";
        let value = self.first(sql, params![primary, secondary, key], |row| row.get(0))?;
        value.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound).into())
    }

    fn set(&self, primary: &str, secondary: &str, key: &str, value: &[u8]) -> Result<(), ldk_io::Error> {
        if primary != MONITORS && primary != MONITOR_UPDATES {
            self.execute(SET, params![primary, secondary, key, value])?;
            return Ok(());
        }
        let stamp = self.change(|connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.prepare_cached(SET)?.execute(params![primary, secondary, key, value])?;
            let stamp = advance(&transaction)?;
            transaction.commit()?;
            Ok(stamp)
        })?;
        self.stamp.send_replace(stamp);
        if primary == MONITORS {
            fail::fail_point!("after-channel-monitor-write", |_| std::process::abort());
        }
        Ok(())
    }

    /// Writes entries, or removes those without a value, in one transaction.
    pub(crate) fn change_entries<'a>(
        &self,
        entries: impl Iterator<Item = (&'a str, &'a str, &'a str, Option<&'a [u8]>)>,
    ) -> io::Result<()> {
        self.change(|connection| {
            let transaction = connection.unchecked_transaction()?;
            for (primary, secondary, key, value) in entries {
                match value {
                    Some(value) => transaction.prepare_cached(SET)?.execute(params![primary, secondary, key, value])?,
                    None => transaction.prepare_cached(DELETE)?.execute(params![primary, secondary, key])?,
                };
            }
            transaction.commit()
        })
    }

    fn delete(&self, primary: &str, secondary: &str, key: &str) -> Result<(), ldk_io::Error> {
        self.execute(DELETE, params![primary, secondary, key])?;
        Ok(())
    }

    pub(crate) fn keys(&self, primary: &str, secondary: &str) -> Result<Vec<String>, ldk_io::Error> {
        let sql = "SELECT key FROM entries WHERE primary_namespace = ?1 AND secondary_namespace = ?2";
        Ok(self.all(sql, [primary, secondary], |row| row.get(0))?)
    }
}

fn advance(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("UPDATE generation SET number = number + 1 RETURNING number")?
        .query_row([], |row| row.get(0))
}

impl KVStoreSync for Store {
    fn read(&self, primary: &str, secondary: &str, key: &str) -> Result<Vec<u8>, ldk_io::Error> {
        self.value(primary, secondary, key)
    }

    fn write(&self, primary: &str, secondary: &str, key: &str, value: Vec<u8>) -> Result<(), ldk_io::Error> {
        self.set(primary, secondary, key, &value)
    }

    fn remove(&self, primary: &str, secondary: &str, key: &str, _lazy: bool) -> Result<(), ldk_io::Error> {
        self.delete(primary, secondary, key)
    }

    fn list(&self, primary: &str, secondary: &str) -> Result<Vec<String>, ldk_io::Error> {
        self.keys(primary, secondary)
    }
}

/// A future that is ready at once.
pub(crate) type Ready<T> = Pin<Box<dyn Future<Output = Result<T, ldk_io::Error>> + Send>>;

pub(crate) fn ready<T: Send + 'static>(result: Result<T, ldk_io::Error>) -> Ready<T> {
    Box::pin(std::future::ready(result))
}

/// Each call completes before it returns, so that writes happen in the order of calls, and the time between the writes
/// of a channel and of the list of channels is short. It blocks a thread of the node's own runtime.
impl KVStore for Store {
    fn read(&self, primary: &str, secondary: &str, key: &str) -> Ready<Vec<u8>> {
        ready(self.value(primary, secondary, key))
    }

    fn write(&self, primary: &str, secondary: &str, key: &str, value: Vec<u8>) -> Ready<()> {
        ready(self.set(primary, secondary, key, &value))
    }

    fn remove(&self, primary: &str, secondary: &str, key: &str, _lazy: bool) -> Ready<()> {
        ready(self.delete(primary, secondary, key))
    }

    fn list(&self, primary: &str, secondary: &str) -> Ready<Vec<String>> {
        ready(self.keys(primary, secondary))
    }
}
