//! Housekeeping: one thing that cannot be removed keeps nothing else in the house.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use common::{NOW, Running, open, options};
use usher_engine::event::Event;
use usher_engine::ports::{
    AllCommitted, Commit, CorrelationKey, DamagedRow, OpenOperation, OutboxMessage, Store, StoreError, StoredOperation,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;

/// A store that cannot remove finished operations, and counts what else it is told to remove.
struct Stuck {
    store: Arc<dyn Store>,
    tried: AtomicUsize,
    forgot: AtomicUsize,
}

#[async_trait]
impl Store for Stuck {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        self.store.commit_all(commits).await
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
        self.store.operation_with_key(key).await
    }

    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.store.events(stream, after, limit).await
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        self.store.outbox(operation).await
    }

    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError> {
        self.store.open_operations(after, limit).await
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        self.store.user_relays(main_key).await
    }

    async fn remove_finished(&self, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        self.tried.fetch_add(1, Ordering::SeqCst);
        Err(StoreError::Failed("as if it could not".into()))
    }

    /// In whole batches at first: then there is more.
    async fn forget_inbound(&self, _: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        Ok(if self.forgot.fetch_add(1, Ordering::SeqCst) < 3 { limit } else { 0 })
    }

    async fn forget_kept_keys(&self, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        self.forgot.fetch_add(1000, Ordering::SeqCst);
        Ok(0)
    }

    async fn forget_user_relays(&self, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        self.forgot.fetch_add(100, Ordering::SeqCst);
        Ok(0)
    }

    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError> {
        self.store.keep_user_relays(users, at).await
    }

    async fn clock_set_back(&self, now: UnixMillis, by: Duration) -> Result<(), StoreError> {
        self.store.clock_set_back(now, by).await
    }

    async fn damaged_rows(&self, limit: usize) -> Result<Vec<DamagedRow>, StoreError> {
        self.store.damaged_rows(limit).await
    }

    async fn latest_record(&self) -> Result<Option<UnixMillis>, StoreError> {
        self.store.latest_record().await
    }
}

#[tokio::test]
async fn what_cannot_be_removed_is_tried_again_and_keeps_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let sqlite = open(dir.path());
    let stuck = Arc::new(Stuck { store: sqlite.clone(), tried: AtomicUsize::new(0), forgot: AtomicUsize::new(0) });
    let usher = Running::start_with(stuck.clone(), sqlite, None, options(), NOW, 1).await;
    let until = async |what: &str, so: &dyn Fn() -> bool| {
        let wait = async {
            while !so() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect(what);
    };
    until("all of it", &|| stuck.forgot.load(Ordering::SeqCst) == 1104).await;
    assert_eq!(stuck.tried.load(Ordering::SeqCst), 1);
    usher.clock.turn(Duration::from_secs(3_600));
    until("the next hour", &|| stuck.forgot.load(Ordering::SeqCst) == 2205).await;
    assert_eq!(stuck.tried.load(Ordering::SeqCst), 2);
    usher.stop().await;
}
