//! What both engines are to the service: a store whose records stand once, over what each engine does with statements.

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    AllCommitted, Commit, DeliveryStore, IdempotencyStore, KeyStore, OpenIdStore, SettingStore, Store, StoreError,
    TicketStore,
};

use crate::codec::{self, Unreadable};
use crate::commit::Plan;
use crate::metrics::StoreMetrics;
use crate::row::{Answer, Row};
use crate::statement::{Param, Query, Statement, params};

/// What an engine does with statements. One transaction writes at a time.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Runs queries that change nothing, and decodes their answers. The engine decides where: it may be on another thread.
    fn read<T: Send + 'static>(
        &self,
        queries: Vec<Query>,
        decode: impl FnMut(&[Answer]) -> Result<T, StoreError> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// Runs statements in one transaction, which others may share.
    fn write(&self, queries: Vec<Query>) -> impl Future<Output = Result<Vec<Answer>, StoreError>> + Send;

    /// The same, where it is enough to know that the statements were committed.
    fn write_blind(&self, queries: Vec<Query>) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Reads, then writes what `decide` makes of the answers, with nothing written in between. `decide` may be called again after
    /// a rollback.
    fn decide<T: Send + 'static>(
        &self,
        reads: Vec<Query>,
        decide: impl FnMut(&[Answer]) -> Result<(T, Vec<Query>), Unreadable> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// See [`Store::commit_all`].
    fn commit(&self, commits: Vec<Commit>) -> impl Future<Output = Result<AllCommitted, StoreError>> + Send {
        let reads = Plan::reads(&commits.iter().collect::<Vec<_>>());
        self.decide(reads, move |read| {
            let mut plan = Plan::new(read)?;
            let committed = plan.apply(&commits)?;
            Ok((committed, plan.writes()))
        })
    }

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
    /// What it has counted.
    pub fn metrics(&self) -> StoreMetrics {
        self.0.metrics()
    }

    /// Reads and writes: whether the store does its work now.
    ///
    /// # Errors
    /// [`StoreError`], as a commit would at this moment.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.0.check().await
    }

    /// Returns when nothing can be written any more, because what writes has panicked. The process should end and be restarted,
    /// which loses nothing; otherwise every commit would return an error.
    pub async fn failed(&self) {
        self.0.failed().await;
    }

    /// Finishes queued work and closes the database; returns when that is done. Later calls return [`StoreError::Closed`].
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// What the first row says, if there is one.
    pub(crate) async fn first<T: Send + 'static>(
        &self,
        query: Query,
        read: impl Fn(&Row) -> Result<T, Unreadable> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        self.answer(query, move |found| Ok(found.first(&read)?)).await
    }

    /// What all rows say.
    pub(crate) async fn all<T: Send + 'static>(
        &self,
        query: Query,
        read: impl Fn(&Row) -> Result<T, Unreadable> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        self.answer(query, move |found| Ok(found.all(&read)?)).await
    }

    /// What the answer says.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        query: Query,
        decode: impl Fn(&Answer) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let decode = move |found: &[Answer]| found.first().map_or_else(|| decode(&Answer::default()), &decode);
        self.0.read(vec![query], decode).await
    }

    /// The first `limit` rows that can be read. The statement takes how many at most, and how many to skip, as its last
    /// parameters.
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

    /// How many rows the last of these statements changed.
    pub(crate) async fn change_all(&self, queries: Vec<Query>) -> Result<usize, StoreError> {
        Ok(self.0.write(queries).await?.last().map_or(0, |answer| answer.changed))
    }

    /// How many rows the statement changed.
    pub(crate) async fn change(&self, query: Query) -> Result<usize, StoreError> {
        self.change_all(vec![query]).await
    }

    /// How many rows the statement removed: those from before a time, and at most so many.
    pub(crate) async fn remove(
        &self,
        statement: Statement,
        before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.change(statement.with(bounds(before, limit))).await
    }
}

/// The parameters of a statement that removes old rows.
pub(crate) fn bounds(before: UnixMillis, limit: usize) -> Vec<Param> {
    params![codec::time(before), codec::limit(limit)]
}

/// A database with everything that the service stores.
#[async_trait]
pub trait Database:
    Store + DeliveryStore + IdempotencyStore + KeyStore + OpenIdStore + SettingStore + TicketStore
{
    /// See [`SqlStore::metrics`].
    fn metrics(&self) -> StoreMetrics;

    /// See [`SqlStore::check`].
    ///
    /// # Errors
    /// [`StoreError`], as a commit would at this moment.
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
