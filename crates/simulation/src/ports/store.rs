//! The disk: a store that is slow, is full at times, and records in the ledger what is durable.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until};
use usher_engine::event::Event;
use usher_engine::ports::{
    AllCommitted, Commit, CorrelationKey, Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore,
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, NewIdempotencyRecord, OpenOperation, OperationKind,
    OutboxMessage, ProofId, Retried, SettingStore, SignerSession, Store, StoreError, StoredOperation, StoredProof,
    StoredTicketJob, TicketBalance, TicketCommit, TicketCommitted, TicketJobId, TicketStore,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;
use usher_store::conformance::FullStore;

use crate::world::World;

/// A store in the world.
pub struct Disk {
    world: Arc<World>,
    inner: Arc<dyn FullStore>,
    /// When the last transaction that was asked for will be durable: they are in the order in which they were asked for.
    last: Mutex<Instant>,
}

/// Waits for a future on this thread without letting virtual time pass: the real store has its own threads.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

impl Disk {
    /// The store behind `inner`; to be made in the runtime.
    pub fn new(world: Arc<World>, inner: Arc<dyn FullStore>) -> Self {
        Self { world, inner, last: Mutex::new(Instant::now()) }
    }

    /// Before something is written.
    async fn write(&self) -> Result<(), StoreError> {
        self.world.instant("before a transaction").await;
        let takes = {
            let mut state = self.world.lock();
            let disk = if state.calm { 1..20 } else { state.plan.disk.clone() };
            state.decisions.delay(disk)
        };
        let at = {
            let mut last = self.last.lock();
            *last = (*last).max(Instant::now() + takes);
            *last
        };
        sleep_until(at).await;
        let full = {
            let state = self.world.lock();
            state.disk_full_until > state.now()
        };
        if full { Err(StoreError::Failed("disk full".into())) } else { Ok(()) }
    }

    /// After it is durable, before the result is known.
    async fn written(&self) {
        self.world.instant("after a transaction, before anybody knows of it").await;
        let takes = {
            let mut state = self.world.lock();
            let end = if state.calm { 3 } else { state.plan.disk.end / 2 };
            state.decisions.delay(0..end)
        };
        sleep(takes).await;
    }

    async fn read(&self) {
        let takes = self.world.lock().decisions.number(0..4);
        sleep(Duration::from_millis(takes)).await;
    }
}

#[async_trait]
impl Store for Disk {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        self.write().await?;
        let committed = wait(self.inner.commit_all(commits.clone()))?;
        if let AllCommitted::Done(heads) = &committed {
            self.world.lock().committed(&commits, heads);
            self.world.queued.notify_one();
        }
        self.written().await;
        Ok(committed)
    }

    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
        self.read().await;
        wait(self.inner.operation(id))
    }

    async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.read().await;
        wait(self.inner.events(stream, after, limit))
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        self.read().await;
        wait(self.inner.outbox(operation))
    }

    async fn open_operations(&self, after: Option<StreamId>, limit: usize) -> Result<Vec<OpenOperation>, StoreError> {
        self.read().await;
        wait(self.inner.open_operations(after, limit))
    }

    async fn subscriptions(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError> {
        self.read().await;
        wait(self.inner.subscriptions(after, limit))
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        self.read().await;
        wait(self.inner.user_relays(main_key))
    }

    async fn user_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StoreError> {
        self.read().await;
        wait(self.inner.user_signer(main_key))
    }

    async fn forget_user_signer(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        self.write().await?;
        wait(self.inner.forget_user_signer(main_key))
    }

    async fn remove_finished(&self, finished_before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.remove_finished(finished_before, limit))
    }

    async fn remove_without_events(&self, ids: Vec<StreamId>) -> Result<(), StoreError> {
        self.write().await?;
        wait(self.inner.remove_without_events(ids))
    }

    async fn remove_eventless(
        &self,
        kind: OperationKind,
        finished_before: UnixMillis,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.remove_eventless(kind, finished_before, limit))
    }

    async fn remove_events(&self, stream: StreamId, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.remove_events(stream, before, limit))
    }

    async fn keep_user_relays(&self, users: &[PublicKey], at: UnixMillis) -> Result<(), StoreError> {
        self.write().await?;
        wait(self.inner.keep_user_relays(users, at))?;
        self.written().await;
        Ok(())
    }

    async fn forget_user_relays(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.forget_user_relays(before, limit))
    }

    async fn forget_inbound(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.forget_inbound(before, limit))
    }

    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        self.read().await;
        wait(self.inner.operation_with_key(key))
    }

    async fn forget_kept_keys(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.forget_kept_keys(before, limit))
    }
}

#[async_trait]
impl DeliveryStore for Disk {
    async fn next_delivery(&self, stream: StreamId) -> Result<Option<Delivery>, StoreError> {
        self.read().await;
        wait(self.inner.next_delivery(stream))
    }

    async fn pending_queues(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, UnixMillis)>, StoreError> {
        self.read().await;
        wait(self.inner.pending_queues(after, limit))
    }

    async fn set_aside_delivery(&self, queue: StreamId, at: UnixMillis) -> Result<Option<(StreamId, u64)>, StoreError> {
        self.write().await?;
        let set_aside = wait(self.inner.set_aside_delivery(queue, at))?;
        self.written().await;
        Ok(set_aside)
    }

    async fn record_attempt(&self, attempt: DeliveryAttempt) -> Result<bool, StoreError> {
        self.write().await?;
        let recorded = wait(self.inner.record_attempt(attempt.clone()))?;
        self.world.lock().attempted(&attempt);
        self.written().await;
        Ok(recorded)
    }

    async fn deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.read().await;
        wait(self.inner.deliveries(status, after, limit))
    }

    async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
        self.read().await;
        wait(self.inner.delivery(stream, index))
    }

    async fn retry_delivery(
        &self,
        stream: StreamId,
        index: u64,
        at: UnixMillis,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Retried, StoreError> {
        self.write().await?;
        wait(self.inner.retry_delivery(stream, index, at, record))
    }

    async fn count_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        self.read().await;
        wait(self.inner.count_deliveries())
    }

    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.forget_deliveries(before, limit))
    }
}

#[async_trait]
impl IdempotencyStore for Disk {
    async fn idempotency_record(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError> {
        self.read().await;
        wait(self.inner.idempotency_record(key))
    }

    async fn add_idempotency_record(&self, new: NewIdempotencyRecord) -> Result<bool, StoreError> {
        self.write().await?;
        let kept = wait(self.inner.add_idempotency_record(new))?;
        self.written().await;
        Ok(kept)
    }

    async fn remove_idempotency_records(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.remove_idempotency_records(before, limit))
    }
}

#[async_trait]
impl SettingStore for Disk {
    async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.read().await;
        wait(self.inner.setting(name))
    }

    async fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.write().await?;
        wait(self.inner.set_setting(name, value))?;
        self.written().await;
        Ok(())
    }
}

#[async_trait]
impl TicketStore for Disk {
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError> {
        self.write().await?;
        let committed = wait(self.inner.commit_tickets(commit))?;
        self.written().await;
        Ok(committed)
    }

    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError> {
        self.read().await;
        wait(self.inner.ticket_job(id))
    }

    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<TicketJobId>, StoreError> {
        self.read().await;
        wait(self.inner.unfinished_ticket_jobs(after, limit))
    }

    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError> {
        self.read().await;
        wait(self.inner.proof_claim(proof))
    }

    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError> {
        self.read().await;
        wait(self.inner.ticket_counter(mint_url, keyset))
    }

    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        self.read().await;
        wait(self.inner.free_proofs(mint_url, unit, limit))
    }

    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError> {
        self.read().await;
        wait(self.inner.proofs(ids))
    }

    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        self.read().await;
        wait(self.inner.ticket_balances())
    }

    async fn set_aside_proofs(&self, after: Option<ProofId>, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        self.read().await;
        wait(self.inner.set_aside_proofs(after, limit))
    }

    async fn return_set_aside(&self, ids: &[ProofId]) -> Result<usize, StoreError> {
        self.write().await?;
        let returned = wait(self.inner.return_set_aside(ids))?;
        self.written().await;
        Ok(returned)
    }

    async fn remove_ticket_jobs(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.write().await?;
        wait(self.inner.remove_ticket_jobs(before, limit))
    }
}
