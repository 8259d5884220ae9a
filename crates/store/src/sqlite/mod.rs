//! The SQLite engine: a file, one thread that writes, a few that read.
//!
//! | file | is |
//! | --- | --- |
//! | `file` | the lock and the permissions of the database file |
//! | `open`, `open_error` | connections and their settings, and errors of opening |
//! | `schema` | migrations |
//! | `thread_job`, `writer`, `readers` | the threads and their jobs |
//! | `inspect` | read-only inspection |
//! | `execute` | statements on a connection |
//! | `backup` | copying a database that is in use, for `usher backup` |
//! | `copy` | reading and writing all rows, for `usher store copy` |
//! | `disk_space` | check for enough disk space |

mod backup;
mod copy;
mod disk_space;
mod execute;
mod failure;
mod file;
mod inspect;
mod open;
mod open_error;
mod options;
mod readers;
mod schema;
mod thread_job;
#[cfg(test)]
mod thread_panic_tests;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{mpsc, watch};
use usher_engine::ports::{AllCommitted, Commit, StoreError};

use crate::codec::Unreadable;
use crate::engine::{Engine, SqlStore};
use crate::metrics::{Metrics, StoreMetrics};
use crate::panic_signal::PanicSignal;
use crate::row::Answer;
use crate::statement::Query;

use self::execute::{run_all, run_each};
use self::file::DatabaseFile;
use self::readers::{ReaderQueues, Readers};
use self::thread_job::Message;

pub use self::backup::{copy_database, set_in_copy};
pub(crate) use self::copy::{SqliteSource, SqliteTarget};
pub use self::failure::SqliteFailure;
pub use self::inspect::{DatabaseInspection, Integrity};
pub use self::open_error::OpenError;
use self::options::MAX_QUEUE;
pub use self::options::SqliteOptions;
pub use self::schema::known_version as known_schema_version;

/// The engine's store in an SQLite file.
///
/// Dropping it has the effect of [`close`](SqlStore::close), and blocks until that is done.
pub type SqliteStore = SqlStore<SqliteEngine>;

/// The threads of a [`SqliteStore`].
pub struct SqliteEngine {
    /// `None` only while being dropped.
    queues: Option<Queues>,
    /// The sender is dropped when everything is closed.
    closed: watch::Receiver<()>,
    writer: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
    /// The number of failed transactions at the last successful probe of the disk space.
    probed: AtomicU64,
    /// Whether SQLite found the file damaged.
    corrupt: AtomicBool,
    panic_signal: PanicSignal,
}

struct Queues {
    writer: mpsc::Sender<Message>,
    readers: ReaderQueues,
}

impl SqliteStore {
    /// Opens or creates the database at `path`, migrates it, and starts the threads. Blocks.
    pub fn open(path: &Path, options: SqliteOptions) -> Result<Self, OpenError> {
        let file = DatabaseFile::claim(path)?;
        let connection = open::writer(&file, &options)?;
        let capacity = options.queue.clamp(1, MAX_QUEUE);
        let reading = (0..options.readers.max(1)).map(|_| open::reader(&file)).collect::<Result<_, _>>()?;
        let panic_signal = PanicSignal::new();
        let readers = Readers::start(reading, options.reader_cache_kib, capacity, &panic_signal);
        let readers = readers.map_err(OpenError::Thread)?;
        let reader_queues = readers.queues();

        let (writer, mut queue) = mpsc::channel(capacity);
        let (alive, closed) = watch::channel(());
        let max_batch = options.max_batch.clamp(1, capacity);
        let metrics = Arc::new(Metrics::default());
        let counting = Arc::clone(&metrics);
        let guard = panic_signal.guard();
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                let _guard = guard;
                writer::run(&connection, &mut queue, max_batch, &counting);
                // The last connection to close moves the log into the database, which a reader cannot.
                readers.close();
                if let Err((_, error)) = connection.close() {
                    tracing::error!(error = &error as &dyn std::error::Error, "the database could not be closed");
                }
                drop(file);
                drop(alive);
            })
            .map_err(OpenError::Thread)?;
        let queues = Some(Queues { writer, readers: reader_queues });
        Ok(Self(SqliteEngine {
            queues,
            closed,
            writer: Mutex::new(Some(thread)),
            metrics,
            probed: AtomicU64::new(0),
            corrupt: AtomicBool::new(false),
            panic_signal,
        }))
    }
}

impl SqliteEngine {
    fn join(&self) {
        let thread = self.writer.lock().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the database's writer thread panicked");
        }
    }

    async fn on_writer<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queues = self.queues.as_ref().ok_or(StoreError::Closed)?;
        self.notice_corruption(thread_job::run(&queues.writer, work).await)
    }

    async fn on_reader<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queue = self.queues.as_ref().and_then(|queues| queues.readers.pick()).ok_or(StoreError::Closed)?;
        self.notice_corruption(thread_job::run(&queue, work).await)
    }

    /// Corruption of the file, unlike a damaged row, is logged once, and the store stays unhealthy until a restart.
    fn notice_corruption<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Failed(failure)) = &result
            && failure.downcast_ref::<SqliteFailure>().is_some_and(SqliteFailure::is_corruption)
            && !self.corrupt.swap(true, Ordering::Relaxed)
        {
            tracing::error!(
                "the database file is corrupt: stop the service, keep a copy of the file, and restore a backup or recover it \
                 (docs/backup.md)"
            );
        }
        result
    }
}

impl Drop for SqliteEngine {
    fn drop(&mut self) {
        // The writer ends when its queue has neither messages nor senders, and then the readers end.
        self.queues = None;
        self.join();
    }
}

impl Engine for SqliteEngine {
    async fn read<T: Send + 'static>(
        &self,
        queries: Vec<Query>,
        mut decode: impl FnMut(&[Answer]) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.on_reader(move |connection| Ok(decode(&run_all(connection, &queries)?))).await?
    }

    async fn write(&self, queries: Vec<Query>) -> Result<Vec<Answer>, StoreError> {
        self.on_writer(move |connection| run_all(connection, &queries)).await
    }

    async fn write_blind(&self, queries: Vec<Query>) -> Result<(), StoreError> {
        self.write(queries).await.map(drop)
    }

    async fn decide<T: Send + 'static>(
        &self,
        reads: Vec<Query>,
        mut decide: impl FnMut(&[Answer]) -> Result<(T, Vec<Query>), Unreadable> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = move |connection: &Connection| {
            let (result, writes) = decide(&run_all(connection, &reads)?)?;
            run_each(connection, &writes)?;
            Ok(result)
        };
        self.on_writer(work).await
    }

    async fn commit(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        let queues = self.queues.as_ref().ok_or(StoreError::Closed)?;
        self.notice_corruption(thread_job::commit(&queues.writer, commits).await)
    }

    fn metrics(&self) -> StoreMetrics {
        self.metrics.values()
    }

    /// Checks that the store works by reading and writing a page.
    ///
    /// Rewrites a value of the file's header, because only a write detects a full disk: reads and transactions without
    /// changes succeed. There may be space for one page but not for a commit: after a failed transaction, as much is
    /// written as commits need, until that succeeds.
    async fn check(&self) -> Result<(), StoreError> {
        self.on_reader(schema::read_version).await?;
        if self.corrupt.load(Ordering::Relaxed) {
            return Err(StoreError::Failed("the database file is corrupt".into()));
        }
        let failed = self.metrics.failures();
        if failed == self.probed.load(Ordering::Relaxed) {
            return self.on_writer(schema::rewrite_version).await;
        }
        self.on_writer(disk_space::fill_probe).await?;
        self.on_writer(disk_space::remove_probe).await?;
        self.probed.store(failed, Ordering::Relaxed);
        Ok(())
    }

    async fn failed(&self) {
        self.panic_signal.raised().await;
    }

    async fn close(&self) {
        if let Some(queues) = &self.queues {
            // An error means that it is already closed.
            drop(queues.writer.send(Message::Close).await);
        }
        // Ends with an error when the writer drops the sender; nothing is ever sent.
        drop(self.closed.clone().changed().await);
        self.join();
    }
}
