//! For unit tests of parts: a store in memory, a scripted Lightning backend, and the parts around the part under test.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::core::Core;
use super::damaged_rows::Damage;
use super::ids::Ids;
use super::index::Index;
use super::inputs::{Inputs, Job};
use super::tasks::Tasks;
use super::timers::Timers;
use crate::event::{Event, EventType};
use crate::operations::Input;
use crate::ports::{
    AllCommitted, Clock, Commit, Conflict, CorrelationKey, Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus,
    DeliveryStore, Head, InvoiceStatus, Lightning, LightningError, LightningInfo, LightningStatus,
    NewIdempotencyRecord, OpenOperation, OperationKind, OutboxChange, OutboxMessage, OutgoingStatus, PaidInvoice,
    Retried, Revision, SignedPayment, SignerSession, Store, StoreError, StoredOperation, WantedInvoice,
};
use crate::testing::{ManualClock, SeededRandomness};
use crate::{StreamId, UnixMillis};

pub(crate) const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

pub(crate) fn stream(n: u8) -> StreamId {
    StreamId::from_parts(NOW.0, [n; 10])
}

pub(crate) fn key(n: u8) -> PublicKey {
    PublicKey::from_byte_array([n; 32])
}

pub(crate) struct Around {
    pub(crate) index: Arc<Index>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) inputs: Inputs,
    jobs: Vec<mpsc::Receiver<Job>>,
    pub(crate) tasks: Tasks,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Around {
    pub(crate) fn new() -> Self {
        let (inputs, jobs) = Inputs::new();
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let clock = Arc::new(ManualClock::at(NOW));
        Self {
            index: Arc::default(),
            timers: Arc::new(Timers::new(Arc::clone(&clock) as Arc<dyn Clock>)),
            clock,
            inputs,
            jobs,
            tasks: Tasks::new(tracker.clone(), stop.clone()),
            tracker,
            stop,
        }
    }

    pub(crate) fn core(&self, store: &Arc<MemoryStore>) -> Core {
        let store = Arc::clone(store) as Arc<dyn Store>;
        let (clock, randomness) = (self.clock.clone(), Arc::new(SeededRandomness::new(1)));
        Core {
            damage: Arc::new(Damage::new(store.clone())),
            store,
            index: self.index.clone(),
            timers: self.timers.clone(),
            metrics: Arc::default(),
            inputs: self.inputs.clone(),
            ids: Ids::new(clock.clone(), randomness.clone()),
            clock,
            randomness,
            tasks: self.tasks.clone(),
        }
    }

    pub(crate) fn empty_core(&self) -> Core {
        self.core(&Arc::default())
    }

    pub(crate) fn open(&self, id: StreamId) {
        let operation = OpenOperation {
            id,
            kind: OperationKind::SinglePayment,
            next_index: 0,
            at: NOW,
            wake_at: None,
            done: false,
            watched: None,
            correlations: Vec::new(),
            has_outbox: false,
            damaged: false,
        };
        self.index.load(&operation, None, None);
    }

    pub(crate) async fn input(&mut self) -> (StreamId, Input) {
        within("an input", || {
            let job = self.jobs.iter_mut().find_map(|jobs| jobs.try_recv().ok());
            job.map(|job| (job.id, job.input))
        })
        .await
    }

    pub(crate) async fn alarms_after(&self, by: Duration) -> Vec<(StreamId, super::timers::Alarm)> {
        self.clock.turn(by);
        tokio::select! {
            biased;
            due = self.timers.next() => due,
            () = tokio::task::yield_now() => Vec::new(),
        }
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

pub(crate) async fn within<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..10_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("never: {what}");
}

pub(crate) struct ScriptedBackend {
    calls: Mutex<Vec<&'static str>>,
    pub(crate) status: Mutex<InvoiceStatus>,
    pub(crate) panics: AtomicBool,
    pub(crate) gate: Semaphore,
}

impl ScriptedBackend {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            status: Mutex::new(InvoiceStatus::Open),
            panics: AtomicBool::new(false),
            gate: Semaphore::new(1_000_000),
        })
    }

    pub(crate) fn gated() -> Arc<Self> {
        Arc::new(Self { gate: Semaphore::new(0), ..Arc::into_inner(Self::new()).unwrap() })
    }

    pub(crate) fn made(&self, kind: &str) -> usize {
        self.calls.lock().iter().filter(|call| **call == kind).count()
    }

    async fn respond(&self, call: &'static str) {
        self.calls.lock().push(call);
        self.gate.acquire().await.unwrap().forget();
        assert!(!self.panics.load(Ordering::SeqCst), "on purpose");
    }
}

#[async_trait]
impl Lightning for ScriptedBackend {
    async fn make_invoice(&self, _: &WantedInvoice) -> Result<Invoice, LightningError> {
        self.respond("make_invoice").await;
        Err(LightningError::NotSent)
    }

    async fn look_up_invoice(&self, _: PaymentHash) -> Result<InvoiceStatus, LightningError> {
        self.respond("look_up_invoice").await;
        Ok(self.status.lock().clone())
    }

    async fn prepare_payment(&self, _: &Invoice, until: u64) -> Result<SignedPayment, LightningError> {
        self.respond("prepare_payment").await;
        Ok(SignedPayment { request: "signed".to_owned(), until })
    }

    async fn pay(&self, _: &Invoice, _: &SignedPayment, _: bool) -> Result<PaidInvoice, LightningError> {
        self.respond("pay").await;
        Err(LightningError::Unknown("no reply".to_owned()))
    }

    async fn look_up_payment(
        &self,
        _: PaymentHash,
        _: Option<&SignedPayment>,
    ) -> Result<OutgoingStatus, LightningError> {
        self.respond("look_up_payment").await;
        Ok(OutgoingStatus::Pending)
    }

    async fn info(&self) -> Result<LightningInfo, LightningError> {
        Err(LightningError::NotSent)
    }

    fn status(&self) -> LightningStatus {
        LightningStatus { connected: true, sends_notifications: true }
    }
}

#[derive(Default)]
pub(crate) struct MemoryStore {
    rows: Mutex<Rows>,
    pub(crate) failures: AtomicUsize,
    /// Whether a commit finds a defect of the program.
    pub(crate) has_defect: AtomicBool,
    pub(crate) relay_reads: AtomicUsize,
}

#[derive(Default)]
struct Rows {
    operations: BTreeMap<StreamId, StoredOperation>,
    keys: HashMap<CorrelationKey, StreamId>,
    outbox: HashMap<StreamId, Vec<OutboxMessage>>,
    relays: HashMap<PublicKey, Vec<String>>,
}

impl MemoryStore {
    pub(crate) fn set_outbox(&self, id: StreamId, messages: Vec<OutboxMessage>) {
        self.rows.lock().outbox.insert(id, messages);
    }

    pub(crate) fn set_relays(&self, user: PublicKey, relays: &[&str]) {
        self.rows.lock().relays.insert(user, relays.iter().map(|relay| (*relay).to_owned()).collect());
    }

    fn conflict(&self, commit: &Commit) -> Option<Conflict> {
        let rows = self.rows.lock();
        let stored = rows.operations.get(&commit.operation).filter(|stored| stored.finished_at.is_none());
        let expected = match commit.expected {
            Revision::New => !rows.operations.contains_key(&commit.operation),
            Revision::At(revision) => stored.is_some_and(|stored| stored.revision == revision),
            Revision::Any => true,
        };
        let taken = commit.claims.iter().find_map(|key| rows.keys.get(key)).map(|id| Conflict::Correlation(*id));
        if expected { taken } else { Some(Conflict::Revision) }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(StoreError::Failed("disk full".into()));
        }
        if self.has_defect.load(Ordering::SeqCst) {
            return Err(StoreError::Unexpected("a test"));
        }
        if let Some(conflict) = commits.iter().find_map(|commit| self.conflict(commit)) {
            return Ok(AllCommitted::Conflict(conflict));
        }
        let mut rows = self.rows.lock();
        let mut heads = Vec::new();
        for commit in commits {
            let before = rows.operations.get(&commit.operation);
            let revision = before.map_or(0, |stored| stored.revision) + 1;
            let next_index = before.map_or(0, |stored| stored.next_index) + commit.events.len() as u64;
            let stored = StoredOperation {
                kind: commit.kind,
                state: commit.state,
                revision,
                next_index,
                done: commit.done,
                finished_at: commit.finished.then_some(commit.at),
            };
            rows.operations.insert(commit.operation, stored);
            rows.keys.extend(commit.claims.iter().map(|key| (*key, commit.operation)));
            if commit.finished {
                rows.keys.retain(|_, id| *id != commit.operation);
            }
            if let OutboxChange::Replace(messages) = commit.outbox {
                rows.outbox.insert(commit.operation, messages);
            }
            heads.push(Head { revision, next_index });
        }
        Ok(AllCommitted::Done(heads))
    }

    async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
        Ok(self.rows.lock().operations.get(&id).cloned())
    }

    async fn operation_with_key(&self, key: CorrelationKey) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        let rows = self.rows.lock();
        Ok(rows.keys.get(&key).and_then(|id| Some((*id, rows.operations.get(id)?.clone()))))
    }

    async fn events(&self, _: StreamId, _: u64, _: usize) -> Result<Vec<Event>, StoreError> {
        Ok(Vec::new())
    }

    async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
        Ok(self.rows.lock().outbox.get(&operation).cloned().unwrap_or_default())
    }

    async fn open_operations(&self, _: Option<StreamId>, _: usize) -> Result<Vec<OpenOperation>, StoreError> {
        Ok(Vec::new())
    }

    async fn subscriptions(
        &self,
        _: Option<StreamId>,
        _: usize,
    ) -> Result<Vec<(StreamId, StoredOperation)>, StoreError> {
        Ok(Vec::new())
    }

    async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
        self.relay_reads.fetch_add(1, Ordering::SeqCst);
        Ok(self.rows.lock().relays.get(main_key).cloned().unwrap_or_default())
    }

    async fn user_signer(&self, _: &PublicKey) -> Result<Option<SignerSession>, StoreError> {
        Ok(None)
    }

    async fn forget_user_signer(&self, _: &PublicKey) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn remove_finished(&self, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        Ok(0)
    }

    async fn remove_without_events(&self, _: Vec<StreamId>) -> Result<(), StoreError> {
        Ok(())
    }

    async fn remove_eventless(&self, _: OperationKind, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        Ok(0)
    }

    async fn remove_events(&self, _: StreamId, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        Ok(0)
    }

    async fn keep_user_relays(&self, _: &[PublicKey], _: UnixMillis) -> Result<(), StoreError> {
        Ok(())
    }

    async fn forget_user_relays(&self, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        Ok(0)
    }

    async fn forget_inbound(&self, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        Ok(0)
    }

    async fn forget_kept_keys(&self, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        Ok(0)
    }
}

#[derive(Default)]
pub(crate) struct MemoryDeliveries(Mutex<BTreeMap<(StreamId, u64), Delivery>>);

impl MemoryDeliveries {
    pub(crate) fn get(&self, stream: StreamId, index: u64) -> Delivery {
        self.0.lock()[&(stream, index)].clone()
    }

    pub(crate) fn add(&self, stream: StreamId, index: u64) {
        let data = "{}".into();
        let event = Event { index, event_type: EventType::StatusUpdate, timestamp: NOW.secs(), data };
        let delivery = Delivery {
            stream,
            queue: stream,
            event,
            status: DeliveryStatus::Pending,
            attempts: 0,
            waited: Duration::ZERO,
            since: NOW,
            due_at: NOW,
            last_attempt_at: None,
            last_status: None,
            last_error: None,
        };
        self.0.lock().insert((stream, index), delivery);
    }
}

#[async_trait]
impl DeliveryStore for MemoryDeliveries {
    async fn next_delivery(&self, queue: StreamId) -> Result<Option<Delivery>, StoreError> {
        let pending = |delivery: &&Delivery| delivery.queue == queue && delivery.status == DeliveryStatus::Pending;
        Ok(self.0.lock().values().find(pending).cloned())
    }

    async fn pending_queues(&self, _: Option<StreamId>, _: usize) -> Result<Vec<(StreamId, UnixMillis)>, StoreError> {
        let deliveries = self.0.lock();
        let pending = deliveries.values().filter(|delivery| delivery.status == DeliveryStatus::Pending);
        Ok(pending.map(|delivery| (delivery.queue, delivery.due_at)).collect::<BTreeMap<_, _>>().into_iter().collect())
    }

    async fn set_aside_delivery(&self, _: StreamId, _: UnixMillis) -> Result<Option<(StreamId, u64)>, StoreError> {
        Ok(None)
    }

    async fn record_attempt(&self, attempt: DeliveryAttempt) -> Result<bool, StoreError> {
        let mut deliveries = self.0.lock();
        let delivery = deliveries.get_mut(&(attempt.stream, attempt.index)).unwrap();
        delivery.status = attempt.status;
        delivery.attempts += 1;
        delivery.due_at = attempt.due_at;
        Ok(true)
    }

    async fn deliveries(
        &self,
        _: DeliveryStatus,
        _: Option<(StreamId, u64)>,
        _: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        Ok(self.0.lock().values().cloned().collect())
    }

    async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
        Ok(self.0.lock().get(&(stream, index)).cloned())
    }

    async fn retry_delivery(
        &self,
        _: StreamId,
        _: u64,
        _: UnixMillis,
        _: Option<NewIdempotencyRecord>,
    ) -> Result<Retried, StoreError> {
        Ok(Retried::NotFound)
    }

    async fn count_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        Ok(DeliveryCounts::default())
    }

    async fn forget_deliveries(&self, _: UnixMillis, _: usize) -> Result<usize, StoreError> {
        Ok(0)
    }
}
