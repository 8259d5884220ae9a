//! The PostgreSQL engine: one connection that writes under a lease, a few that read.
//!
//! | file | is |
//! | --- | --- |
//! | `options`, `open_error` | connection options, and errors of opening |
//! | `session`, `pipeline`, `tls` | a connection, and requests that share a round trip |
//! | `statement`, `nul_escaping` | texts of statements, parameters and rows |
//! | `schema` | migrations |
//! | `lease` | the lease of the active instance |
//! | `writer_job`, `writer`, `readers` | queued work, and its execution |
//! | `inspect` | read-only inspection |
//! | `copy` | reading and writing all rows, for `usher store copy` |
//! | `failure` | errors |

mod copy;
mod failure;
mod inspect;
mod lease;
mod nul_escaping;
mod open_error;
mod options;
mod pipeline;
mod readers;
mod schema;
mod session;
mod statement;
mod tls;
mod writer;
mod writer_job;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use usher_engine::ports::{AllCommitted, Commit, StoreError};

use self::options::Address;
use self::readers::Readers;
use self::writer::Writer;
use self::writer_job::{Message, WriterQueue};
use crate::codec::Unreadable;
use crate::engine::{Engine, SqlStore};
use crate::metrics::{Metrics, StoreMetrics};
use crate::panic_signal::PanicSignal;
use crate::row::Answer;
use crate::statement::{Query, Statement, params};

pub(crate) use self::copy::PostgresDatabase;
pub use self::failure::PostgresFailure;
pub use self::inspect::PostgresInspection;
pub use self::lease::{Acquired, HeldLease, Lease, LeaseHolder, LeaseRequest};
pub use self::open_error::PostgresOpenError;
pub use self::options::PostgresOptions;

/// Longest queue that can be configured.
const MAX_QUEUE: usize = 65_536;

/// The engine's store in a PostgreSQL database, for the instance that holds the [`Lease`].
///
/// Dropping it aborts current work: each queued commit is complete or absent. [`close`](SqlStore::close) finishes the
/// queued work first, and keeps the lease.
pub type PostgresStore = SqlStore<PostgresEngine>;

/// The connections of a [`PostgresStore`].
pub struct PostgresEngine {
    queue: WriterQueue,
    readers: Readers,
    writer: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
    panic_signal: PanicSignal,
}

impl PostgresStore {
    /// Connects, migrates the database, and starts the writer, under this epoch of the [`Lease`].
    ///
    /// # Errors
    /// [`PostgresOpenError`], caused by [`PostgresFailure::NotActive`] if the epoch has ended.
    pub async fn open(options: &PostgresOptions, epoch: u64) -> Result<Self, PostgresOpenError> {
        let address = Address::new(options)?;
        let capacity = options.queue.clamp(1, MAX_QUEUE);
        let metrics = Arc::new(Metrics::default());
        let max_batch = options.max_batch.clamp(1, capacity);
        let (for_writer, timeout) = (address.clone(), options.outcome_timeout);
        let mut writer = Writer::new(for_writer, epoch, max_batch, timeout, Arc::clone(&metrics));
        writer.connect().await?;
        writer.check_mark().await?;
        writer.migrate(schema::MIGRATIONS).await?;
        let readers = Readers::new(address, options.readers, capacity, writer.certainty(), timeout);
        let panic_signal = PanicSignal::new();
        let guard = panic_signal.guard();
        let (sender, queue) = mpsc::channel(capacity);
        #[expect(clippy::disallowed_methods, reason = "the store owns the task, and ends it")]
        let writer = tokio::spawn(async move {
            let _guard = guard;
            writer.run(queue).await;
        });
        let (queue, writer) = (WriterQueue(sender), Mutex::new(Some(writer)));
        Ok(Self(PostgresEngine { queue, readers, writer, metrics, panic_signal }))
    }
}

impl Engine for PostgresEngine {
    async fn read<T: Send + 'static>(
        &self,
        queries: Vec<Query>,
        mut decode: impl FnMut(&[Answer]) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let found = self.readers.run(&queries).await?;
        decode(&found)
    }

    async fn write(&self, queries: Vec<Query>) -> Result<Vec<Answer>, StoreError> {
        self.queue.statements(queries).await
    }

    async fn write_blind(&self, queries: Vec<Query>) -> Result<(), StoreError> {
        self.queue.blind(queries).await
    }

    async fn decide<T: Send + 'static>(
        &self,
        reads: Vec<Query>,
        decide: impl FnMut(&[Answer]) -> Result<(T, Vec<Query>), Unreadable> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.queue.decision(reads, decide).await
    }

    /// Grouped with other commits.
    async fn commit(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        self.queue.commit(commits).await
    }

    fn metrics(&self) -> StoreMetrics {
        self.metrics.values()
    }

    async fn check(&self) -> Result<(), StoreError> {
        const CHECK: Statement = Statement::new("check the database", "SELECT count(*) FROM migrations");
        self.readers.run(&[CHECK.with(params![])]).await?;
        // Its transaction writes the row of the lease.
        self.queue.blind(vec![CHECK.with(params![])]).await
    }

    async fn failed(&self) {
        tokio::select! {
            () = self.panic_signal.raised() => {}
            () = self.readers.over() => {}
        }
    }

    async fn close(&self) {
        // An error means that it is already closed.
        drop(self.queue.0.send(Message::Close).await);
        let writer = self.writer.lock().take();
        if let Some(writer) = writer
            && let Err(error) = writer.await
            && error.is_panic()
        {
            tracing::error!("the database's writer panicked");
        }
        self.readers.close().await;
    }
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.lock().take() {
            writer.abort();
        }
    }
}
