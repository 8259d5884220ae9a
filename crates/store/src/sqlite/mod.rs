//! The SQLite engine: a file, one thread that writes, a few that read.
//!
//! | file | is |
//! | --- | --- |
//! | `file` | the lock and the permissions of the database file |
//! | `open`, `open_error` | connections and their settings, and why a database is refused |
//! | `schema` | migrations |
//! | `thread_job`, `writer`, `readers` | the threads and their jobs |
//! | `inspect` | looking at a database without changing it |
//! | `api_keys`, `apply_commit`, `audit_log`, `read`, `deliveries`, `idempotency_records`, `openid_records`, `passkeys`, `payment_records`, `settings`, `tickets`, `users`, `retention`, `damaged_rows` | the statements |
//! | `backup` | copying a database that is in use, for `usher backup` |
//! | `copy` | reading and writing all rows, for `usher store copy` |
//! | `disk_space` | whether there is enough disk space |

mod api_keys;
mod apply_commit;
mod audit_log;
mod backup;
mod copy;
mod damaged_rows;
mod deliveries;
mod disk_space;
mod failure;
mod file;
mod idempotency_records;
mod inspect;
mod open;
mod open_error;
mod openid_records;
mod passkeys;
mod payment_records;
mod read;
mod readers;
mod retention;
mod schema;
mod settings;
mod thread_job;
#[cfg(test)]
mod thread_panic_tests;
mod tickets;
mod users;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{mpsc, watch};
use usher_engine::event::Event;
use usher_engine::ports::{
    AllCommitted, BookedPayment, Commit, CorrelationKey, OpenOperation, OperationKind, OutboxMessage, Passkey,
    PasskeyCount, PaymentFilter, SignerSession, Store, StoreError, StoredOperation,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use crate::metrics::{Metrics, StoreMetrics};
use crate::panic_signal::PanicSignal;

use self::file::DatabaseFile;
use self::readers::{ReaderQueues, Readers};
use self::thread_job::Message;

pub use self::backup::{copy_database, set_in_copy};
pub(crate) use self::copy::{SqliteSource, SqliteTarget};
pub use self::failure::SqliteFailure;
pub use self::inspect::{DatabaseInspection, Integrity};
pub use self::open_error::OpenError;
pub use self::schema::known_version as known_schema_version;

/// Longest queue that can be asked for.
const MAX_QUEUE: usize = 65_536;

/// How a [`SqliteStore`] works; the default suits a service on a small machine.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// Threads that read, at least 1.
    pub readers: usize,
    /// How many commits and queries may wait in each thread's queue, 1 to 65,536; while it is full, callers wait.
    pub queue: usize,
    /// Most commits that share a transaction, 1 to `queue`: what bounds how long the first of them waits for the last.
    pub max_batch: usize,
    /// Most memory for the writer's pages, in KiB.
    pub writer_cache_kib: u32,
    /// Most memory for each reader's pages, in KiB.
    pub reader_cache_kib: u32,
    /// Largest size of the database file in bytes; commits that need more fail. None: what the disk has.
    pub max_bytes: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            readers: 2,
            queue: 1024,
            max_batch: 512,
            writer_cache_kib: 32 * 1024,
            reader_cache_kib: 16 * 1024,
            max_bytes: None,
        }
    }
}

/// The engine's store in an SQLite file.
///
/// Dropping it does what [`close`](Self::close) does and blocks until it is done.
pub struct SqliteStore {
    /// None only while being dropped.
    queues: Option<Queues>,
    /// Its sender is gone when everything is closed.
    closed: watch::Receiver<()>,
    writer: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
    /// How many transactions had failed when the last probe of the disk space succeeded.
    probed: AtomicU64,
    /// SQLite has found the file damaged.
    corrupt: AtomicBool,
    panic_signal: PanicSignal,
}

struct Queues {
    writer: mpsc::Sender<Message>,
    readers: ReaderQueues,
}

impl SqliteStore {
    /// Opens or creates the database at `path`, migrates it, and starts the threads. Blocks while it does.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(path: &Path, options: SqliteOptions) -> Result<Self, OpenError> {
        let file = DatabaseFile::claim(path)?;
        let connection = open::writer(&file, &options)?;
        let capacity = options.queue.clamp(1, MAX_QUEUE);
        let reading = (0..options.readers.max(1)).map(|_| open::reader(&file, &options)).collect::<Result<_, _>>()?;
        let panic_signal = PanicSignal::new();
        let readers = Readers::start(reading, capacity, &panic_signal).map_err(OpenError::Thread)?;
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
                // The last connection to close empties the log into the database, which a reader's could not.
                readers.close();
                if let Err((_, error)) = connection.close() {
                    tracing::error!(error = &error as &dyn std::error::Error, "the database could not be closed");
                }
                drop(file);
                drop(alive);
            })
            .map_err(OpenError::Thread)?;
        let queues = Some(Queues { writer, readers: reader_queues });
        Ok(Self {
            queues,
            closed,
            writer: Mutex::new(Some(thread)),
            metrics,
            probed: AtomicU64::new(0),
            corrupt: AtomicBool::new(false),
            panic_signal,
        })
    }

    /// What it has counted.
    pub fn metrics(&self) -> StoreMetrics {
        self.metrics.values()
    }

    /// Reads a page and writes one: whether the store does its work now.
    ///
    /// Rewrites a value of the file's header, because only a write shows whether the disk is full: reads succeed on a
    /// full disk, and so does a transaction that changes nothing. There may be space for one page but not for a commit:
    /// after a failed transaction, as much is written as commits need, until that succeeds.
    ///
    /// # Errors
    /// [`StoreError`], as a commit would at this moment.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.read(schema::read_version).await?;
        if self.corrupt.load(Ordering::Relaxed) {
            return Err(StoreError::Failed("the database file is corrupt".into()));
        }
        let failed = self.metrics.failures();
        if failed == self.probed.load(Ordering::Relaxed) {
            return self.write(schema::rewrite_version).await;
        }
        self.write(disk_space::fill_probe).await?;
        self.write(disk_space::remove_probe).await?;
        self.probed.store(failed, Ordering::Relaxed);
        Ok(())
    }

    /// Returns when one of its threads has panicked: nothing can be written, or read, from then on. The process should end
    /// and be restarted, which loses nothing; otherwise every call would return an error.
    pub async fn failed(&self) {
        self.panic_signal.raised().await;
    }

    /// Commits queued work, closes the file and releases it for another process; returns when that is done. Later calls
    /// return [`StoreError::Closed`].
    pub async fn close(&self) {
        if let Some(queues) = &self.queues {
            // An error means that it is closed already.
            drop(queues.writer.send(Message::Close).await);
        }
        // Ends with an error when the writer has dropped the sender; nothing is ever sent.
        drop(self.closed.clone().changed().await);
        self.join();
    }

    fn join(&self) {
        let thread = self.writer.lock().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the database's writer thread panicked");
        }
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queues = self.queues.as_ref().ok_or(StoreError::Closed)?;
        self.notice_corruption(thread_job::run(&queues.writer, work).await)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let queue = self.queues.as_ref().and_then(|queues| queues.readers.pick()).ok_or(StoreError::Closed)?;
        self.notice_corruption(thread_job::run(queue, work).await)
    }

    /// A damaged file, unlike a damaged row, is logged once, and the store stays unhealthy until a restart.
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

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The writer ends when its queue has neither messages nor senders, and takes the readers along.
        self.queues = None;
        self.join();
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        self.write(move |connection| apply_commit::apply(connection, &commits)).await
    }

    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
        self.read(move |connection| read::operation(connection, id)).await
    }

    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        self.read(move |connection| read::operation_with_key(connection, key)).await
    }

    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.read(move |connection| read::events(connection, stream, after, limit)).await?
    }

    async fn operation_and_events(
        &self,
        id: StreamId,
        after: u64,
        limit: usize,
    ) -> Result<Option<(StoredOperation, Result<Vec<Event>, StoreError>)>, StoreError> {
        self.read(move |connection| {
            let Some(operation) = read::operation(connection, id)? else { return Ok(None) };
            Ok(Some((operation, read::events(connection, id, after, limit)?)))
        })
        .await
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        self.read(move |connection| read::outbox(connection, operation)).await
    }

    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError> {
        self.read(move |connection| read::open_operations(connection, after, limit)).await
    }

    async fn subscriptions(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError> {
        self.read(move |connection| read::subscriptions(connection, after, limit)).await
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        let main_key = *main_key;
        self.read(move |connection| read::user_relays(connection, &main_key)).await
    }

    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError> {
        let main_key = *main_key;
        self.read(move |connection| read::user_signer(connection, &main_key)).await
    }

    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        let main_key = *main_key;
        self.write(move |connection| apply_commit::forget_signer(connection, &main_key)).await
    }

    async fn passkey(&self, credential_id: &[u8]) -> Result<Option<Passkey>, StoreError> {
        let credential_id = credential_id.to_vec();
        self.read(move |connection| passkeys::read(connection, &credential_id)).await
    }

    async fn passkey_count(&self, main_key: &PublicKey) -> Result<PasskeyCount, StoreError> {
        let main_key = *main_key;
        self.read(move |connection| passkeys::count(connection, &main_key)).await
    }

    async fn forget_passkeys(&self, main_key: &PublicKey) -> Result<usize, StoreError> {
        let main_key = *main_key;
        self.write(move |connection| passkeys::forget(connection, &main_key)).await
    }

    async fn forget_unused_passkeys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| passkeys::forget_unused(connection, before, limit)).await
    }

    async fn payment_records(
        &self,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError> {
        self.read(move |connection| payment_records::list(connection, filter, after, limit)).await
    }

    async fn payment_record(&self, id: StreamId) -> Result<Option<BookedPayment>, StoreError> {
        self.read(move |connection| payment_records::find(connection, id)).await
    }

    async fn refunded(&self, payment: StreamId) -> Result<u64, StoreError> {
        self.read(move |connection| payment_records::refunded(connection, payment)).await
    }

    async fn is_paid(&self, hash: PaymentHash) -> Result<bool, StoreError> {
        self.read(move |connection| payment_records::is_paid(connection, hash)).await
    }

    async fn forget_payment_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| payment_records::forget(connection, before, limit)).await
    }

    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::remove_finished(connection, finished_before, limit)).await
    }

    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError> {
        self.write(move |connection| retention::remove_without_events(connection, &ids)).await
    }

    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write(move |connection| retention::remove_eventless(connection, kind, finished_before, limit)).await
    }

    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::remove_events(connection, stream, before, limit)).await
    }

    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError> {
        let users = users.to_vec();
        self.write(move |connection| users.iter().try_for_each(|user| apply_commit::keep_relays(connection, user, at)))
            .await
    }

    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::forget_user_relays(connection, before, limit)).await
    }

    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::forget_inbound(connection, before, limit)).await
    }

    async fn forget_kept_keys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write(move |connection| retention::forget_kept_keys(connection, before, limit)).await
    }
}
