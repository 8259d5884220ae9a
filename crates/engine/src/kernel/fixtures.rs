//! Fixtures for unit tests of parts: the parts around the one under test. The engine as a whole is tested on a real
//! store (`tests/`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use super::core::Core;
use super::id_generator::Ids;
use super::index::Index;
use super::input_queue::{InputQueue, Job};
use super::tasks::Tasks;
use super::timers::Timers;
use crate::event::Event;
use crate::kernel::requested_store::RequestedStore;
use crate::machine::Input;
use crate::ports::*;
use crate::testing::{FakeLightning, FaultyStore, ManualClock, SeededRandomness};
use crate::{ClientNetwork, Order, StreamId, UnixMillis};

pub(crate) const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

pub(crate) fn stream(n: u8) -> StreamId {
    StreamId::from_parts(NOW.0, [n; 10])
}

/// The `n`th of many, in the order of their ids.
pub(crate) fn id(n: u64) -> StreamId {
    StreamId::from_parts(NOW.0 + n, [0; 10])
}

pub(crate) fn network(n: u32) -> ClientNetwork {
    ClientNetwork::Network(n.to_be_bytes().into())
}

pub(crate) fn key(n: u8) -> PublicKey {
    PublicKey::from_byte_array([n; 32])
}

pub(crate) type TestStore = FaultyStore<StoredRows>;

/// The dependencies of most parts.
pub(crate) struct Around {
    pub(crate) store: Arc<TestStore>,
    pub(crate) index: Arc<Index>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) inputs: InputQueue,
    jobs: Vec<mpsc::Receiver<Box<Job>>>,
    pub(crate) tasks: Tasks,
}

impl Around {
    pub(crate) fn new() -> Self {
        let (inputs, jobs) = InputQueue::new();
        let clock = Arc::new(ManualClock::at(NOW));
        Self {
            store: FaultyStore::on(Arc::default()),
            index: Arc::default(),
            timers: Arc::new(Timers::new(Arc::clone(&clock) as Arc<dyn Clock>)),
            clock,
            inputs,
            jobs,
            tasks: Tasks::new(TaskTracker::new(), CancellationToken::new()),
        }
    }

    /// The core, with random values of one seed.
    pub(crate) fn core(&self) -> Core {
        let (clock, randomness) = (self.clock.clone(), Arc::new(SeededRandomness::new(1)));
        Core {
            store: RequestedStore::new(self.store.clone()),
            damaged_rows: Arc::default(),
            recent_states: Arc::default(),
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

    /// A Lightning backend that reports settlements.
    pub(crate) fn lightning(&self) -> Arc<FakeLightning> {
        let backend = Arc::new(FakeLightning::default());
        backend.begin(self.clock.clone());
        backend.tells(true);
        backend
    }

    pub(crate) fn open(&self, id: StreamId) {
        self.index.load(&open_operation(id), None, None);
    }

    pub(crate) async fn input(&mut self) -> (StreamId, Input) {
        within("an input", || self.input_now()).await
    }

    pub(crate) fn input_now(&mut self) -> Option<(StreamId, Input)> {
        let job = self.jobs.iter_mut().find_map(|jobs| jobs.try_recv().ok());
        job.map(|job| (job.id, job.input))
    }

    pub(crate) async fn timers_after(&self, by: Duration) -> Vec<(StreamId, super::timers::TimerKind)> {
        self.clock.turn(by);
        tokio::select! {
            biased;
            due = self.timers.next() => due,
            () = tokio::task::yield_now() => Vec::new(),
        }
    }
}

pub(crate) fn open_operation(id: StreamId) -> OpenOperation {
    OpenOperation {
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

/// Operations with their events, messages and deliveries; other calls are errors.
#[derive(Default)]
pub(crate) struct StoredRows(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    operations: BTreeMap<StreamId, (StoredOperation, Vec<CorrelationKey>)>,
    events: BTreeMap<(StreamId, u64), Event>,
    deliveries: BTreeMap<(StreamId, u64), Delivery>,
    outboxes: HashMap<StreamId, Vec<OutboxMessage>>,
    user_relays: HashMap<PublicKey, Vec<String>>,
}

impl Rows {
    fn conflict(&self, commit: &Commit) -> Option<Conflict> {
        let stored = self.operations.get(&commit.operation).map(|(stored, _)| stored);
        let revision = stored.filter(|stored| stored.finished_at.is_none()).map(|stored| stored.revision);
        let is_as_expected = match commit.expected {
            Revision::New => stored.is_none(),
            Revision::At(expected) => revision == Some(expected),
            Revision::Any => revision.is_some(),
        };
        if !is_as_expected {
            return Some(Conflict::Revision);
        }
        let claimed = |(_, claims): &(_, Vec<_>)| claims.iter().any(|key| commit.claims.contains(key));
        let owner = self.operations.iter().find(|(id, row)| **id != commit.operation && claimed(row));
        owner.map(|(id, _)| Conflict::Correlation(*id))
    }

    fn apply(&mut self, commit: Commit) -> OperationHead {
        let (id, at) = (commit.operation, commit.at);
        let (stored, claims) = self.operations.entry(id).or_insert_with(|| {
            let (kind, origin, state) = (commit.kind, commit.origin, State(String::new()));
            (
                StoredOperation { kind, origin, state, revision: 0, next_index: 0, done: false, finished_at: None },
                Vec::new(),
            )
        });
        stored.state = commit.state;
        stored.revision += 1;
        stored.done = commit.done;
        stored.finished_at = commit.finished.then_some(at);
        if !commit.random_keys {
            claims.extend(commit.claims);
        }
        for event in commit.events {
            let event = event.at_index(stored.next_index);
            stored.next_index += 1;
            if commit.deliver {
                self.deliveries.insert((id, event.index), pending(id, event.clone(), at));
            }
            self.events.insert((id, event.index), event);
        }
        match commit.outbox {
            OutboxChange::Replace(messages) => drop(self.outboxes.insert(id, messages)),
            OutboxChange::Add(messages) => self.outboxes.entry(id).or_default().extend(messages),
            OutboxChange::Keep | OutboxChange::Pause(_) => {}
        }
        if commit.finished {
            claims.clear();
            self.outboxes.remove(&id);
        }
        self.user_relays.extend(commit.user_relays.into_iter().map(|user| (user.main_key, user.relays)));
        OperationHead { revision: stored.revision, next_index: stored.next_index }
    }

    fn pending(&self) -> impl Iterator<Item = &Delivery> {
        self.deliveries.values().filter(|delivery| delivery.status == DeliveryStatus::Pending)
    }
}

fn pending(stream: StreamId, event: Event, at: UnixMillis) -> Delivery {
    Delivery {
        stream,
        queue: stream,
        event,
        status: DeliveryStatus::Pending,
        attempts: 0,
        waited: Duration::ZERO,
        since: at,
        due_at: at,
        last_attempt_at: None,
        last_status: None,
        last_error: None,
    }
}

/// Implements some methods of a port; the others return an error.
macro_rules! partly {
    ($port:ident { $($kept:tt)* } else { $($method:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }) => {
        #[async_trait]
        impl $port for StoredRows {
            $($kept)*
            $(
                async fn $method(&self, $($argument: $type),*) -> Result<$result, StoreError> {
                    $(let _ = $argument;)*
                    Err(StoreError::Unexpected(concat!("not in unit tests: ", stringify!($method))))
                }
            )*
        }
    };
}

partly! {
    Store {
        async fn commit_all(&self, commits: Vec<Commit>) -> Result<AllCommitted, StoreError> {
            let mut rows = self.0.lock();
            if let Some(conflict) = commits.iter().find_map(|commit| rows.conflict(commit)) {
                return Ok(AllCommitted::Conflict(conflict));
            }
            Ok(AllCommitted::Done(commits.into_iter().map(|commit| rows.apply(commit)).collect()))
        }

        async fn operation(&self, id: StreamId) -> Result<Option<StoredOperation>, StoreError> {
            Ok(self.0.lock().operations.get(&id).map(|(stored, _)| stored.clone()))
        }

        async fn operation_with_key(
            &self,
            key: CorrelationKey,
        ) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
            let rows = self.0.lock();
            let found = rows.operations.iter().find(|(_, (_, claims))| claims.contains(&key));
            Ok(found.map(|(id, (stored, _))| (*id, stored.clone())))
        }

        async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
            let rows = self.0.lock();
            Ok(rows.events.range((stream, after)..=(stream, u64::MAX)).take(limit).map(|(_, event)| event.clone()).collect())
        }

        async fn outbox(&self, operation: StreamId) -> Result<Vec<OutboxMessage>, StoreError> {
            Ok(self.0.lock().outboxes.get(&operation).cloned().unwrap_or_default())
        }

        async fn user_relays(&self, main_key: &PublicKey) -> Result<Vec<String>, StoreError> {
            Ok(self.0.lock().user_relays.get(main_key).cloned().unwrap_or_default())
        }

        async fn remove_without_events(&self, _ids: Vec<StreamId>) -> Result<(), StoreError> {
            Ok(())
        }
    } else {
        open_operations(after: Option<StreamId>, limit: usize) -> Vec<OpenOperation>;
        subscriptions(order: Order, after: Option<StreamId>, limit: usize) -> Vec<(StreamId, StoredOperation)>;
        user_signer(main_key: &PublicKey) -> Option<SignerSession>;
        forget_user_signer(main_key: &PublicKey) -> bool;
        passkey(credential_id: &[u8]) -> Option<Passkey>;
        passkey_count(main_key: &PublicKey) -> PasskeyCount;
        forget_passkeys(main_key: &PublicKey) -> usize;
        forget_unused_passkeys(before: UnixMillis, limit: usize) -> usize;
        payment_records(filter: PaymentFilter, after: Option<StreamId>, limit: usize) -> Vec<BookedPayment>;
        newest_payments(search: &PaymentSearch, filter: PaymentFilter, before: Option<PaymentPosition>, limit: usize) -> Vec<BookedPayment>;
        large_payments(above: u64, from: UnixMillis, limit: usize) -> Vec<BookedPayment>;
        payment_record(id: StreamId) -> Option<BookedPayment>;
        refunded(payment: StreamId) -> u64;
        is_paid(hash: PaymentHash) -> bool;
        forget_payment_records(before: UnixMillis, limit: usize) -> usize;
        hourly_sums(from: u64, to: u64) -> Vec<HourlySums>;
        login_records(filter: LoginFilter, after: Option<LoginPosition>, most: usize) -> Matches<EndedLogin, LoginPosition>;
        forget_login_records(before: UnixMillis, limit: usize) -> usize;
        remove_finished(finished_before: UnixMillis, limit: usize) -> usize;
        remove_eventless(kind: OperationKind, finished_before: UnixMillis, limit: usize) -> usize;
        remove_events(stream: StreamId, before: UnixMillis, limit: usize) -> usize;
        keep_user_relays(users: &[PublicKey], at: UnixMillis) -> ();
        forget_user_relays(before: UnixMillis, limit: usize) -> usize;
        forget_inbound(before: UnixMillis, limit: usize) -> usize;
        forget_kept_keys(before: UnixMillis, limit: usize) -> usize;
    }
}

partly! {
    UserStore {} else {
        forget_user(main_key: &PublicKey) -> ForgottenUser;
        forget_relays_of(main_key: &PublicKey) -> bool;
        user_records(main_key: &PublicKey) -> UserRecords;
        streams_with(text: &str, after: Option<StreamId>, limit: usize) -> StreamMatches;
        idempotency_records_with(text: &str, after: Option<IdempotencyKey>, limit: usize) -> Matches<UnixMillis, IdempotencyKey>;
        remove_finished_of(ids: Vec<StreamId>) -> Vec<StreamId>;
    }
}

partly! {
    AuditReader {} else {
        audit_entries(after: u64, limit: usize) -> Vec<AuditEntry>;
        audit_bounds() -> AuditBounds;
    }
}

partly! {
    AuditStore {} else {
        add_audit_entry(entry: NewAuditEntry) -> ();
        forget_audit_entries(before: UnixMillis, limit: usize, key: &AuditKey) -> usize;
    }
}

partly! {
    DeliveryStore {
        async fn next_delivery(&self, queue: StreamId) -> Result<Option<Delivery>, StoreError> {
            Ok(self.0.lock().pending().find(|delivery| delivery.queue == queue).cloned())
        }

        async fn pending_queues(
            &self,
            after: Option<StreamId>,
            limit: usize,
        ) -> Result<Vec<(StreamId, UnixMillis)>, StoreError> {
            let rows = self.0.lock();
            let mut queues = BTreeMap::new();
            for delivery in rows.pending() {
                queues.entry(delivery.queue).or_insert(delivery.due_at);
            }
            Ok(queues.into_iter().filter(|(queue, _)| after.is_none_or(|after| *queue > after)).take(limit).collect())
        }

        async fn record_attempt(&self, attempt: DeliveryAttempt) -> Result<bool, StoreError> {
            let mut rows = self.0.lock();
            let Some(delivery) = rows.deliveries.get_mut(&(attempt.stream, attempt.index)) else { return Ok(false) };
            delivery.status = attempt.status;
            delivery.attempts += 1;
            delivery.due_at = attempt.due_at;
            Ok(true)
        }

        async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
            Ok(self.0.lock().deliveries.get(&(stream, index)).cloned())
        }
    } else {
        set_aside_delivery(queue: StreamId, at: UnixMillis) -> Option<(StreamId, u64)>;
        deliveries(status: DeliveryStatus, after: Option<(StreamId, u64)>, limit: usize) -> Vec<Delivery>;
        retry_delivery(stream: StreamId, index: u64, at: UnixMillis, record: Option<NewIdempotencyRecord>) -> Retried;
        count_deliveries() -> DeliveryCounts;
        forget_deliveries(before: UnixMillis, limit: usize) -> usize;
    }
}
