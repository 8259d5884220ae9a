//! The PostgreSQL engine: one connection that writes under a lease, a few that read.
//!
//! | file | is |
//! | --- | --- |
//! | `options`, `open_error` | where the database is, and why it is refused |
//! | `session`, `pipeline`, `tls` | a connection, and requests that share a round trip |
//! | `query`, `columns`, `text` | statements, and values in columns |
//! | `schema` | migrations |
//! | `lease` | which of several instances may write |
//! | `writer_job`, `writer`, `readers` | what waits for a connection, and what becomes of it |
//! | `commit` | steps of operations, decided in memory |
//! | `read`, `audit_log`, `deliveries`, `idempotency_records`, `openid_records`, `passkeys`, `settings`, `tickets`, `retention` | the statements |
//! | `inspect`, `damaged_rows` | looking at a database without changing it |
//! | `copy` | reading and writing all rows, for `usher store copy` |
//! | `failure` | errors |

mod api_keys;
mod audit_log;
mod columns;
mod commit;
mod copy;
mod damaged_rows;
mod deliveries;
mod failure;
mod idempotency_records;
mod inspect;
mod lease;
mod nul_escaping;
mod open_error;
mod openid_records;
mod options;
mod passkeys;
mod payment_records;
mod pipeline;
mod query;
mod read;
mod readers;
mod retention;
mod schema;
mod session;
mod settings;
mod tickets;
mod tls;
mod users;
mod writer;
mod writer_job;

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::Row;
use usher_engine::event::Event;
use usher_engine::ports::{
    AllCommitted, BookedPayment, Commit, CorrelationKey, OpenOperation, OperationKind, OutboxMessage, Passkey,
    PasskeyCount, PaymentFilter, SignerSession, Store, StoreError, StoredOperation,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use self::options::Address;
use self::query::{Answer, Param, Query, list, params};
use self::readers::Readers;
use self::writer::Writer;
use self::writer_job::{Message, WriterQueue};
use crate::codec;
use crate::metrics::{Metrics, StoreMetrics};
use crate::panic_signal::PanicSignal;

pub(crate) use self::copy::{PostgresSource, PostgresTarget};
pub use self::failure::PostgresFailure;
pub use self::inspect::PostgresInspection;
pub use self::lease::{Acquired, HeldLease, Lease, LeaseHolder, LeaseRequest};
pub use self::open_error::PostgresOpenError;
pub use self::options::PostgresOptions;

/// Longest queue that can be asked for.
const MAX_QUEUE: usize = 65_536;

/// The engine's store in a PostgreSQL database, for the instance that holds the [`Lease`].
///
/// Dropping it ends what is under way: each queued commit is whole or absent. [`close`](Self::close) does the queued work first.
pub struct PostgresStore {
    queue: WriterQueue,
    readers: Readers,
    writer: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
    panic_signal: PanicSignal,
}

impl PostgresStore {
    /// Connects, migrates the database, and starts the writer. Everything is written under this epoch of the [`Lease`].
    ///
    /// # Errors
    /// [`PostgresOpenError`]; with [`PostgresFailure::NotActive`] as its cause if the epoch is over.
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
        Ok(Self { queue, readers, writer, metrics, panic_signal })
    }

    /// What it has counted.
    pub fn metrics(&self) -> StoreMetrics {
        self.metrics.values()
    }

    /// Reads and writes: whether the store does its work now, and its instance is the active one.
    ///
    /// # Errors
    /// [`StoreError`], as a commit would at this moment.
    pub async fn check(&self) -> Result<(), StoreError> {
        const POLL_INTERVAL: &str = "SELECT count(*) FROM migrations";
        self.read("check the database", POLL_INTERVAL, params![]).await?;
        // The transaction around it writes the row of the lease.
        self.queue.blind(vec![Query::new("check the database", POLL_INTERVAL, params![])]).await
    }

    /// Returns when its writer has panicked: nothing can be written from then on. The process should end and be restarted, which
    /// loses nothing; otherwise every commit would return an error.
    pub async fn failed(&self) {
        self.panic_signal.raised().await;
    }

    /// Commits queued work and closes the connections; returns when that is done. Later calls return [`StoreError::Closed`]. The
    /// lease stays as it is.
    pub async fn close(&self) {
        // An error means that it is closed already.
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

    async fn read(&self, during: &'static str, sql: &'static str, params: Vec<Param>) -> Result<Answer, StoreError> {
        self.readers.run(&Query::new(during, sql, params)).await
    }

    /// The first `limit` rows that can be read. The statement takes how many at most, and how many to skip, as its last
    /// parameters.
    async fn readable<T>(
        &self,
        during: &'static str,
        sql: &'static str,
        mut params: Vec<Param>,
        limit: usize,
        read: impl Fn(&Row) -> Result<T, PostgresFailure> + Send + Sync,
    ) -> Result<Vec<T>, StoreError> {
        let mut readable = Vec::new();
        let mut skip = 0_usize;
        let of_caller = params.len();
        loop {
            let missing = limit.saturating_sub(readable.len());
            params.truncate(of_caller);
            params.extend(params![codec::limit(missing), codec::limit(skip)]);
            let found = self.read(during, sql, params.clone()).await?;
            for row in &found.rows {
                match read(row) {
                    Ok(row) => readable.push(row),
                    Err(PostgresFailure::Unreadable(_)) => {}
                    Err(failure) => return Err(failure.into()),
                }
            }
            skip = skip.saturating_add(found.rows.len());
            if readable.len() >= limit || found.rows.len() < missing {
                return Ok(readable);
            }
        }
    }

    async fn write(&self, query: Query) -> Result<Answer, StoreError> {
        Ok(self.queue.statements(vec![query]).await?.into_iter().next().unwrap_or_default())
    }

    /// How many rows the statement changed.
    async fn change(&self, during: &'static str, sql: &'static str, params: Vec<Param>) -> Result<usize, StoreError> {
        Ok(self.write(Query::new(during, sql, params)).await?.changed)
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.lock().take() {
            writer.abort();
        }
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        self.queue.commit(commits).await
    }

    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
        let found = self.read("read an operation", read::OPERATION, params![id.as_bytes()]).await?;
        Ok(found.rows.first().map(read::operation).transpose()?)
    }

    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        const DURING: &str = "read the operation that has a correlation key";
        let found = self.read(DURING, read::WITH_KEY, params![key.as_bytes()]).await?;
        Ok(found.rows.first().map(read::with_id).transpose()?)
    }

    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let part = params![stream.as_bytes(), codec::integer(after), codec::limit(limit)];
        read::events(&self.read("read events", read::EVENTS, part).await?.rows)
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        let found = self.read("read the outbox", read::OUTBOX, params![operation.as_bytes()]).await?;
        Ok(found.rows.iter().map(read::outbox_message).collect::<Result<_, _>>()?)
    }

    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError> {
        let page = params![codec::after_stream(after.as_ref()), codec::limit(limit)];
        let found = self.read("read the open operations", read::OPEN_OPERATIONS, page).await?;
        Ok(found.rows.iter().map(read::open_operation).collect::<Result<_, _>>()?)
    }

    async fn subscriptions(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError> {
        let from = params![codec::after_stream(after.as_ref())];
        self.readable("read subscriptions", read::SUBSCRIPTIONS, from, limit, read::with_id).await
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        const RELAYS: &str = "SELECT relays FROM user_relays WHERE main_key = $1";
        let found = self.read("read a user's relays", RELAYS, params![main_key.as_bytes()]).await?;
        let relays = found.rows.first().map(|row| Ok::<_, PostgresFailure>(codec::relays(&columns::text(row, 0)?)?));
        Ok(relays.transpose()?.unwrap_or_default())
    }

    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError> {
        const SIGNER: &str = "SELECT signer FROM user_relays WHERE main_key = $1";
        let found = self.read("read a user's remote signer", SIGNER, params![main_key.as_bytes()]).await?;
        let signer = found.rows.first().map(|row| columns::optional_text(row, 0)).transpose()?;
        Ok(signer.flatten().map(SignerSession))
    }

    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        const FORGET: &str = "UPDATE user_relays SET signer = NULL WHERE main_key = $1 AND signer IS NOT NULL";
        Ok(self.change("forget a user's remote signer", FORGET, params![main_key.as_bytes()]).await? > 0)
    }

    async fn passkey(&self, credential_id: &[u8]) -> Result<Option<Passkey>, StoreError> {
        let found = self.read("read a passkey", passkeys::READ, params![credential_id]).await?;
        Ok(found.rows.first().map(passkeys::read).transpose()?)
    }

    async fn passkey_count(&self, main_key: &PublicKey) -> Result<PasskeyCount, StoreError> {
        let counted = self.read("count passkeys", passkeys::COUNT, params![main_key.as_bytes()]).await?;
        let row = counted.rows.first().ok_or(PostgresFailure::Unreadable("the number of passkeys"))?;
        Ok(PasskeyCount { in_all: columns::int(row, 0)?, of_user: columns::int(row, 1)? })
    }

    async fn forget_passkeys(&self, main_key: &PublicKey) -> Result<usize, StoreError> {
        self.change("remove a user's passkeys", passkeys::FORGET, params![main_key.as_bytes()]).await
    }

    async fn forget_unused_passkeys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change("remove unused passkeys", passkeys::FORGET_UNUSED, retention::bounds(before, limit)).await
    }

    async fn payment_records(
        &self,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError> {
        let selection = payment_records::selection(filter, after);
        self.readable("read the books", payment_records::LIST, selection, limit, payment_records::read).await
    }

    async fn payment_record(&self, id: StreamId) -> Result<Option<BookedPayment>, StoreError> {
        let found = self.read("read a payment in the books", payment_records::FIND, params![id.as_bytes()]).await?;
        Ok(found.rows.first().map(payment_records::read).transpose()?)
    }

    async fn refunded(&self, payment: StreamId) -> Result<u64, StoreError> {
        let summed =
            self.read("sum up what is refunded", payment_records::REFUNDED, params![payment.as_bytes()]).await?;
        let row = summed.rows.first().ok_or(PostgresFailure::Unreadable("what is refunded"))?;
        Ok(columns::int(row, 0)?)
    }

    async fn is_paid(&self, hash: PaymentHash) -> Result<bool, StoreError> {
        let found = self.read("look for a paid invoice", payment_records::PAID, params![hash.as_bytes()]).await?;
        Ok(!found.rows.is_empty())
    }

    async fn forget_payment_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let bounds = retention::bounds(before, limit);
        self.change("remove old payments from the books", payment_records::FORGET, bounds).await
    }

    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let bounds = retention::bounds(finished_before, limit);
        self.change("remove finished operations", retention::FINISHED, bounds).await
    }

    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError> {
        let ids = vec![list(ids.iter().map(StreamId::as_bytes))];
        self.queue.blind(vec![Query::new("remove operations without events", retention::WITHOUT_EVENTS, ids)]).await
    }

    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let mut bounds = retention::bounds(finished_before, limit);
        bounds.extend(params![kind.code()]);
        self.change("remove finished operations without events", retention::EVENTLESS, bounds).await
    }

    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let part = params![stream.as_bytes(), codec::time(before), retention::limit(limit)];
        self.change("remove events", retention::EVENTS, part).await
    }

    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError> {
        const KEEP: &str = "UPDATE user_relays SET at = $2 WHERE main_key = ANY($1::bytea[]) AND at < $3";
        let users = list(users.iter().map(PublicKey::as_bytes));
        let columns = params![users, codec::time(at), codec::time(at.minus(codec::RELAYS_NOTED_EVERY))];
        self.queue.blind(vec![Query::new("note that users' relays are in use", KEEP, columns)]).await
    }

    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change("forget users' relays", retention::USERS, retention::bounds(before, limit)).await
    }

    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change("forget inbound events", retention::INBOUND, retention::bounds(before, limit)).await
    }

    async fn forget_kept_keys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change("free correlation keys", retention::KEPT_KEYS, retention::bounds(before, limit)).await
    }
}
