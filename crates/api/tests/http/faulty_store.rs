//! A store that fails or stalls on demand.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use usher_engine::ports::{
    AllCommitted, Commit, CorrelationKey, IdempotencyKey, IdempotencyRecord, IdempotencyStore, NewIdempotencyRecord,
    OpenOperation, OperationKind, OutboxMessage, SignerSession, Store, StoreError, StoredOperation,
};
use usher_engine::{Event, StreamId, UnixMillis};
use usher_protocol::PublicKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Work,
    Fail,
    StandStill,
    StandStillAtCommit,
    FailOneCommit,
    Panic,
}

pub struct FaultyStore {
    inner: Arc<dyn Store>,
    idempotency: Arc<dyn IdempotencyStore>,
    mode: watch::Sender<Mode>,
    asked: watch::Sender<usize>,
}

impl FaultyStore {
    pub fn new(inner: Arc<dyn Store>, idempotency: Arc<dyn IdempotencyStore>) -> Self {
        Self { inner, idempotency, mode: watch::Sender::new(Mode::Work), asked: watch::Sender::new(0) }
    }

    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// How often the store was asked for something.
    pub fn asked(&self) -> usize {
        *self.asked.borrow()
    }

    /// Returns when the store was asked more often than `before`.
    pub async fn asked_more_than(&self, before: usize) {
        self.asked.subscribe().wait_for(|asked| *asked > before).await.unwrap();
    }

    async fn gate(&self) -> Result<(), StoreError> {
        self.asked.send_modify(|asked| *asked += 1);
        self.uncounted_gate().await
    }

    /// For what the engine also asks by itself, whenever that is.
    async fn uncounted_gate(&self) -> Result<(), StoreError> {
        let mode = *self.mode.subscribe().wait_for(|mode| *mode != Mode::StandStill).await.unwrap();
        match mode {
            Mode::Fail => Err(StoreError::Failed("the disk is full of s3cret".into())),
            Mode::Panic => panic!("a bug with s3cret"),
            Mode::Work | Mode::StandStill | Mode::StandStillAtCommit | Mode::FailOneCommit => Ok(()),
        }
    }

    /// Behind the gate of everything, that of commits.
    async fn commit_gate(&self) -> Result<(), StoreError> {
        let mode = *self.mode.subscribe().wait_for(|mode| *mode != Mode::StandStillAtCommit).await.unwrap();
        if mode == Mode::FailOneCommit {
            self.set(Mode::Work);
            return Err(StoreError::Failed("the disk is full for a moment".into()));
        }
        Ok(())
    }
}

#[async_trait]
impl IdempotencyStore for FaultyStore {
    async fn idempotency_record(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError> {
        self.gate().await?;
        self.idempotency.idempotency_record(key).await
    }

    async fn add_idempotency_record(&self, new: NewIdempotencyRecord) -> Result<bool, StoreError> {
        self.gate().await?;
        self.idempotency.add_idempotency_record(new).await
    }

    async fn remove_idempotency_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.idempotency.remove_idempotency_records(before, limit).await
    }
}

#[async_trait]
impl Store for FaultyStore {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        self.gate().await?;
        self.commit_gate().await?;
        self.inner.commit_all(commits).await
    }

    async fn subscriptions(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError> {
        self.uncounted_gate().await?;
        self.inner.subscriptions(after, limit).await
    }

    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
        self.gate().await?;
        self.inner.operation(id).await
    }

    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        self.gate().await?;
        self.inner.operation_with_key(key).await
    }

    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.gate().await?;
        self.inner.events(stream, after, limit).await
    }

    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.inner.remove_events(stream, before, limit).await
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        self.inner.outbox(operation).await
    }

    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError> {
        self.inner.open_operations(after, limit).await
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        self.inner.user_relays(main_key).await
    }

    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.inner.remove_eventless(kind, finished_before, limit).await
    }

    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError> {
        self.inner.remove_without_events(ids).await
    }

    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.inner.remove_finished(finished_before, limit).await
    }

    async fn forget_kept_keys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.inner.forget_kept_keys(before, limit).await
    }

    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.inner.forget_user_relays(before, limit).await
    }

    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.inner.forget_inbound(before, limit).await
    }

    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError> {
        self.inner.user_signer(main_key).await
    }

    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        self.inner.forget_user_signer(main_key).await
    }

    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError> {
        self.inner.keep_user_relays(users, at).await
    }
}
