//! For the unit tests of parts: the parts around the part under test. The engine as a whole is tested on a real store
//! (`tests/`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::PublicKey;

use super::core::Core;
use super::damaged_rows::DamagedRowReader;
use super::id_generator::Ids;
use super::index::Index;
use super::input_queue::{InputQueue, Job};
use super::tasks::Tasks;
use super::timers::Timers;
use crate::operations::Input;
use crate::ports::{Clock, OpenOperation, OperationKind, Store};
use crate::testing::{FakeLightning, FaultyStore, ManualClock, MemoryStore, SeededRandomness};
use crate::{ClientNetwork, StreamId, UnixMillis};

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

/// A store that fails when a test says so.
pub(crate) type TestStore = FaultyStore<MemoryStore>;

/// What most parts need.
pub(crate) struct Around {
    pub(crate) store: Arc<TestStore>,
    pub(crate) index: Arc<Index>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) inputs: InputQueue,
    jobs: Vec<mpsc::Receiver<Job>>,
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
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let (clock, randomness) = (self.clock.clone(), Arc::new(SeededRandomness::new(1)));
        Core {
            damaged_rows: Arc::new(DamagedRowReader::new(store.clone())),
            store,
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
