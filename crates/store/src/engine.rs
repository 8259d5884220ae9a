//! What both engines provide: statements; the records' code above them is shared.

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    AllCommitted, Commit, DeliveryStore, IdempotencyStore, KeyStore, OpenIdStore, SettingStore, Store, StoreError,
    TicketStore,
};

use crate::codec::{self, Unreadable};
use crate::metrics::StoreMetrics;
use crate::row::{Answer, Row};
use crate::statement::{Param, Query, Statement, params};

/// Executes statements. One transaction writes at a time.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Runs read-only queries, and decodes their answers, possibly on another thread.
    fn read<T: Send + 'static>(
        &self,
        queries: Vec<Query>,
        decode: impl FnMut(&[Answer]) -> Result<T, StoreError> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// Runs statements in one transaction, which others may share.
    fn write(&self, queries: Vec<Query>) -> impl Future<Output = Result<Vec<Answer>, StoreError>> + Send;

    /// The same, without the results.
    fn write_blind(&self, queries: Vec<Query>) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Reads, then writes the statements that `decide` returns, without writes in between. `decide` may be called again
    /// after a rollback.
    fn decide<T: Send + 'static>(
        &self,
        reads: Vec<Query>,
        decide: impl FnMut(&[Answer]) -> Result<(T, Vec<Query>), Unreadable> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// See [`Store::commit_all`].
    fn commit(&self, commits: Vec<Commit>) -> impl Future<Output = Result<AllCommitted, StoreError>> + Send;

    /// See [`SqlStore::metrics`].
    fn metrics(&self) -> StoreMetrics;

    /// See [`SqlStore::check`].
    fn check(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// See [`SqlStore::failed`].
    fn failed(&self) -> impl Future<Output = ()> + Send;

    /// See [`SqlStore::close`].
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// The engine's store in an SQL database: [`SqliteStore`](crate::SqliteStore) or [`PostgresStore`](crate::PostgresStore).
pub struct SqlStore<E>(pub(crate) E);

#[expect(private_bounds, reason = "the engines are those of this crate")]
impl<E: Engine> SqlStore<E> {
    /// Metrics since the store was opened.
    pub fn metrics(&self) -> StoreMetrics {
        self.0.metrics()
    }

    /// Checks by reading and writing that the store works.
    ///
    /// # Errors
    /// [`StoreError`], as a commit would return now.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.0.check().await
    }

    /// Returns when nothing can be written any more, because the writer has panicked. The process should then restart,
    /// which loses nothing; otherwise every commit fails.
    pub async fn failed(&self) {
        self.0.failed().await;
    }

    /// Finishes queued work, closes the database, then returns. Later calls return [`StoreError::Closed`].
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Decodes the first row, if there is one.
    pub(crate) async fn first<T: Send + 'static>(
        &self,
        query: Query,
        read: impl Fn(&Row) -> Result<T, Unreadable> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        self.answer(query, move |found| Ok(found.first(&read)?)).await
    }

    /// Decodes all rows.
    pub(crate) async fn all<T: Send + 'static>(
        &self,
        query: Query,
        read: impl Fn(&Row) -> Result<T, Unreadable> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        self.answer(query, move |found| Ok(found.all(&read)?)).await
    }

    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        query: Query,
        decode: impl Fn(&Answer) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let decode = move |found: &[Answer]| found.first().map_or_else(|| decode(&Answer::default()), &decode);
        self.0.read(vec![query], decode).await
    }

    /// The first `limit` readable rows. The statement's last parameters are the limit and the offset.
    pub(crate) async fn readable<T: Send + 'static>(
        &self,
        statement: Statement,
        params: Vec<Param>,
        limit: usize,
        read: fn(&Row) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, StoreError> {
        let mut readable = Vec::new();
        let mut skip = 0_usize;
        loop {
            let missing = limit.saturating_sub(readable.len());
            let page = params![codec::limit(missing), codec::limit(skip)];
            let query = statement.with(params.iter().cloned().chain(page).collect());
            let decode = move |found: &Answer| {
                let rows = found.rows.iter().filter_map(|row| read(row).ok()).collect::<Vec<_>>();
                Ok((rows, found.rows.len()))
            };
            let (rows, found) = self.answer(query, decode).await?;
            readable.extend(rows);
            skip = skip.saturating_add(found);
            if readable.len() >= limit || found < missing {
                return Ok(readable);
            }
        }
    }

    /// Returns how many rows the last of these statements changed.
    pub(crate) async fn change_all(&self, queries: Vec<Query>) -> Result<usize, StoreError> {
        Ok(self.0.write(queries).await?.last().map_or(0, |answer| answer.changed))
    }

    /// Returns how many rows the statement changed.
    pub(crate) async fn change(&self, query: Query) -> Result<usize, StoreError> {
        self.change_all(vec![query]).await
    }

    /// Removes rows older than a time, at most `limit`; returns how many.
    pub(crate) async fn remove(
        &self,
        statement: Statement,
        before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.change(statement.with(bounds(before, limit))).await
    }
}

pub(crate) fn bounds(before: UnixMillis, limit: usize) -> Vec<Param> {
    params![codec::time(before), codec::limit(limit)]
}

/// A database with all storage ports.
#[async_trait]
pub trait Database:
    Store + DeliveryStore + IdempotencyStore + KeyStore + OpenIdStore + SettingStore + TicketStore
{
    /// See [`SqlStore::metrics`].
    fn metrics(&self) -> StoreMetrics;

    /// See [`SqlStore::check`].
    ///
    /// # Errors
    /// [`StoreError`], as a commit would return now.
    async fn check(&self) -> Result<(), StoreError>;

    /// See [`SqlStore::failed`].
    async fn failed(&self);

    /// See [`SqlStore::close`].
    async fn close(&self);
}

#[async_trait]
impl<E: Engine> Database for SqlStore<E> {
    fn metrics(&self) -> StoreMetrics {
        self.0.metrics()
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.0.check().await
    }

    async fn failed(&self) {
        self.0.failed().await;
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
