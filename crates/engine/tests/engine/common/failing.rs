//! A store that fails, or delays the results of its commits, on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use usher_engine::event::Event;
use usher_engine::ports::{
    AllCommitted, Commit, CorrelationKey, OpenOperation, OperationKind, OutboxMessage, Revision, SignerSession, Store,
    StoreError, StoredOperation,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;

/// A store that fails a number of commits, and counts how often the outbox is read.
pub struct Failing {
    store: Arc<dyn Store>,
    pub failures: AtomicUsize,
    pub outbox_reads: AtomicUsize,
    /// How often the relays of subscribers were marked as in use.
    pub relay_renewals: AtomicUsize,
    /// While it is set, commits that create an operation are durable but do not return.
    pub hold: AtomicBool,
    /// The same for all commits.
    pub hold_all: AtomicBool,
    /// How many commits, and such reads, have been held.
    pub held: AtomicUsize,
    /// While it is set, operations are not looked for by their keys.
    pub hold_look_ups: AtomicBool,
    /// While it is set, no operation is removed by its id.
    pub keeps_eventless: AtomicBool,
}

impl Failing {
    pub fn on(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            store,
            failures: AtomicUsize::new(0),
            outbox_reads: AtomicUsize::new(0),
            relay_renewals: AtomicUsize::new(0),
            hold: AtomicBool::new(false),
            hold_all: AtomicBool::new(false),
            held: AtomicUsize::new(0),
            hold_look_ups: AtomicBool::new(false),
            keeps_eventless: AtomicBool::new(false),
        })
    }

    fn fails(&self) -> bool {
        self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }
}

#[async_trait]
impl Store for Failing {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        if self.fails() {
            return Err(StoreError::Failed("disk full".into()));
        }
        let creates = commits.iter().any(|commit| commit.expected == Revision::New);
        let result = self.store.commit_all(commits).await;
        let holds = || self.hold_all.load(Ordering::SeqCst) || (creates && self.hold.load(Ordering::SeqCst));
        if holds() {
            self.held.fetch_add(1, Ordering::SeqCst);
            while holds() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        result
    }

    async fn subscriptions(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError> {
        self.store.subscriptions(after, limit).await
    }

    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
        self.store.operation(id).await
    }

    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        if self.hold_look_ups.load(Ordering::SeqCst) {
            self.held.fetch_add(1, Ordering::SeqCst);
            while self.hold_look_ups.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        self.store.operation_with_key(key).await
    }

    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.store.events(stream, after, limit).await
    }

    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.remove_events(stream, before, limit).await
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        self.outbox_reads.fetch_add(1, Ordering::SeqCst);
        self.store.outbox(operation).await
    }

    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError> {
        self.store.open_operations(after, limit).await
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        self.store.user_relays(main_key).await
    }

    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError> {
        self.store.user_signer(main_key).await
    }

    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        self.store.forget_user_signer(main_key).await
    }

    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.store.remove_eventless(kind, finished_before, limit).await
    }

    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError> {
        if self.keeps_eventless.load(Ordering::SeqCst) {
            return Err(StoreError::Failed("as if it had crashed".into()));
        }
        self.store.remove_without_events(ids).await
    }

    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.remove_finished(finished_before, limit).await
    }

    async fn forget_kept_keys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.forget_kept_keys(before, limit).await
    }

    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.forget_user_relays(before, limit).await
    }

    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.forget_inbound(before, limit).await
    }

    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError> {
        self.store.keep_user_relays(users, at).await?;
        self.relay_renewals.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
