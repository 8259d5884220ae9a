//! For the unit tests of parts: a scripted Lightning backend, and the parts around the part under test. The engine as a
//! whole is tested on a real store (`tests/`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
use crate::operations::Input;
use crate::ports::{
    Clock, InvoiceStatus, Lightning, LightningError, LightningInfo, LightningStatus, OpenOperation, OperationKind,
    OutgoingStatus, PaidInvoice, SignedPayment, Store, WantedInvoice,
};
use crate::testing::{FaultyStore, ManualClock, MemoryStore, SeededRandomness};
use crate::{StreamId, UnixMillis};

pub(crate) const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

/// The stream id of the `n`th operation.
pub(crate) fn stream(n: u8) -> StreamId {
    StreamId::from_parts(NOW.0, [n; 10])
}

pub(crate) fn key(n: u8) -> PublicKey {
    PublicKey::from_byte_array([n; 32])
}

/// A store that fails when a test says so.
pub(crate) type TestStore = FaultyStore<MemoryStore>;

/// What most parts need.
pub(crate) struct Around {
    pub(crate) store: Arc<TestStore>,
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
            store: FaultyStore::on(Arc::default()),
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

    /// The core, with random values of one seed.
    pub(crate) fn core(&self) -> Core {
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
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

    /// An operation is open.
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

    /// The next input that a part has put into the queue.
    pub(crate) async fn input(&mut self) -> (StreamId, Input) {
        within("an input", || {
            let job = self.jobs.iter_mut().find_map(|jobs| jobs.try_recv().ok());
            job.map(|job| (job.id, job.input))
        })
        .await
    }

    /// The alarms that are due after `by`.
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

/// Waits in real time until there is something.
pub(crate) async fn within<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..10_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("never: {what}");
}

/// A scripted Lightning backend.
pub(crate) struct ScriptedBackend {
    calls: Mutex<Vec<&'static str>>,
    pub(crate) status: Mutex<InvoiceStatus>,
    pub(crate) panics: AtomicBool,
    /// A permit for each request that may return.
    pub(crate) gate: Semaphore,
}

impl ScriptedBackend {
    /// One that responds at once.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            status: Mutex::new(InvoiceStatus::Open),
            panics: AtomicBool::new(false),
            gate: Semaphore::new(1_000_000),
        })
    }

    /// One whose requests return when the gate lets them.
    pub(crate) fn gated() -> Arc<Self> {
        Arc::new(Self { gate: Semaphore::new(0), ..Arc::into_inner(Self::new()).unwrap() })
    }

    /// How many requests of this kind were made.
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
