//! One of several instances: a standby until it has the lease, then the service.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{Clock, Randomness};
use usher_engine::{Engine, UnixMillis};
use usher_instance::{ActiveLease, ConnectFailure, LeaseGate, LeaseStore, OnLoss, Process, Watching, acquire};
use usher_store::{LeaseHolder, LeaseRequest, SqliteStore};

use crate::daemon::{Host, Service};
use crate::ports::shared_database::{Connection, LeaseConnection};
use crate::world::World;
use crate::world::instances::{LEASE, Mutation, Seat};
use crate::world::time::{WallClock, runtime};

/// How long a stop may take in all, as in the program.
const STOP_WITHIN: Duration = Duration::from_secs(9);

/// How long calls may take to end when the instance stops.
const GRACE: Duration = Duration::from_secs(5);

pub(super) struct Surroundings {
    pub(super) world: Arc<World>,
    pub(super) store: Arc<SqliteStore>,
    pub(super) randomness: Arc<dyn Randomness>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It lost its lease.
    StartsOver(&'static str),
    /// It was asked to.
    Stopped,
}

#[derive(Default)]
pub(super) struct Known {
    pub(super) engine: Option<Arc<Engine>>,
    /// What it believes of its lease.
    pub(super) gate: Option<LeaseGate>,
    /// The active instance, as a standby knows it.
    pub(super) active: Option<usize>,
    /// Since when it has been waiting for the lease.
    pub(super) waits_since: Option<u64>,
    pub(super) end: Option<End>,
}

pub(super) struct Instance {
    number: usize,
    ahead: Arc<AtomicI64>,
    pub(super) runtime: Option<Runtime>,
    /// How far it has come, in milliseconds since the beginning.
    pub(super) clock: u64,
    pub(super) paused_until: Option<u64>,
    pub(super) stop: CancellationToken,
    pub(super) known: Arc<Mutex<Known>>,
    pub(super) ended: Arc<Notify>,
    down_until: u64,
    calls: TaskTracker,
}

impl Instance {
    pub(super) fn new(number: usize, ahead: Arc<AtomicI64>) -> Self {
        Self {
            number,
            ahead,
            runtime: None,
            clock: 0,
            paused_until: None,
            stop: CancellationToken::new(),
            known: Arc::default(),
            ended: Arc::default(),
            // One after the other.
            down_until: number as u64 * 1_500,
            calls: TaskTracker::new(),
        }
    }

    pub(super) fn runs(&self) -> bool {
        self.runtime.is_some()
    }

    pub(super) fn engine(&self) -> Option<Arc<Engine>> {
        self.known.lock().engine.clone()
    }

    pub(super) fn spawn(&self, call: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            self.calls.spawn_on(call, runtime.handle());
        }
    }

    pub(super) fn start_if_due(
        &mut self,
        now: u64,
        around: &Arc<Surroundings>,
        network: &Handle,
    ) -> Result<(), String> {
        if self.runtime.is_some() || self.down_until > now {
            return Ok(());
        }
        let runtime = runtime()?;
        self.stop = CancellationToken::new();
        self.calls = TaskTracker::new();
        self.clock = now;
        *self.known.lock() = Known { waits_since: Some(now), ..Known::default() };
        let life = Life {
            number: self.number,
            clock: WallClock { time: Arc::clone(&around.world.time), ahead: Arc::clone(&self.ahead) },
            around: Arc::clone(around),
            network: network.clone(),
            stop: self.stop.clone(),
            calls: self.calls.clone(),
            process: Arc::new(SimulatedProcess { known: Arc::clone(&self.known), ended: Arc::clone(&self.ended) }),
        };
        runtime.spawn(life.live());
        self.runtime = Some(runtime);
        around.world.lock().log(&format!("instance {} is started", self.number));
        Ok(())
    }

    /// Its process is gone, with all its memory.
    pub(super) fn end(&mut self, down_until: u64) {
        *self.known.lock() = Known::default();
        self.paused_until = None;
        self.runtime = None;
        self.ended = Arc::default();
        self.down_until = down_until;
    }
}

/// The process of an instance, which ends at once, and nothing else with it.
struct SimulatedProcess {
    known: Arc<Mutex<Known>>,
    ended: Arc<Notify>,
}

impl SimulatedProcess {
    fn end(&self, end: End) {
        self.known.lock().end.get_or_insert(end);
        self.ended.notify_one();
    }
}

impl Process for SimulatedProcess {
    fn watch(&self, watching: Watching) -> std::io::Result<()> {
        // Ends with the runtime.
        drop(Handle::current().spawn(watching));
        Ok(())
    }

    fn start_over(&self, why: &'static str) {
        self.end(End::StartsOver(why));
    }

    fn exit(&self, _why: &'static str) {
        self.end(End::Stopped);
    }
}

struct Life {
    number: usize,
    clock: WallClock,
    around: Arc<Surroundings>,
    network: Handle,
    stop: CancellationToken,
    calls: TaskTracker,
    process: Arc<SimulatedProcess>,
}

impl Life {
    fn world(&self) -> &Arc<World> {
        &self.around.world
    }

    /// As `usher serve` with a shared database.
    async fn live(self) {
        let mutation = self.world().lock().instances.mutation;
        let clock: Arc<dyn Clock> = match mutation {
            Some(Mutation::LeaseByWallClock) => Arc::new(OnTheWall(self.clock.clone())),
            _ => Arc::new(self.clock.clone()),
        };
        let lease = tokio::select! {
            lease = self.become_active(clock) => lease,
            () = self.stop.cancelled() => return self.process.end(End::Stopped),
        };
        let Some(lease) = lease else { return };
        {
            let mut known = self.process.known.lock();
            known.gate = Some(lease.gate());
            known.waits_since = None;
        }
        let seat = Seat { instance: self.number, epoch: lease.epoch() };
        let host = Host {
            clock: self.clock.clone(),
            store: Arc::new(Connection::open(self.around.store.clone(), Arc::clone(self.world()), seat)),
            relays: self.network.clone(),
            seat: Some(seat),
            gate: if mutation == Some(Mutation::NoGates) { LeaseGate::default() } else { lease.gate() },
        };
        let randomness = Arc::clone(&self.around.randomness);
        let started = tokio::select! {
            started = Service::start(self.world(), host, randomness) => started,
            () = self.stop.cancelled() => Err("it is asked to stop".to_owned()),
        };
        let service = match started {
            Ok(service) => service,
            Err(why) => {
                self.world().lock().log(&format!("instance {} does not start: {why}", self.number));
                lease.exit_on_loss();
                lease.hand_over().await;
                return self.process.end(End::Stopped);
            }
        };
        self.process.known.lock().engine = Some(Arc::clone(&service.engine));
        {
            let mut state = self.world().lock();
            state.up = true;
            state.starts += 1;
            state.log(&format!("instance {} serves under epoch {}", self.number, seat.epoch));
        }
        tokio::select! {
            () = service.engine.failed() => {
                self.world().lock().violation("no-panic", "a task of the engine has panicked");
            }
            () = self.stop.cancelled() => {}
        }
        lease.exit_on_loss();
        self.process.known.lock().engine = None;
        let stopping = async {
            self.calls.close();
            // Calls that take longer are cut off.
            let _ = timeout(GRACE, self.calls.wait()).await;
            service.stop().await
        };
        if timeout(STOP_WITHIN, stopping).await.is_err() {
            self.world().lock().log("the stop is cut short");
        }
        lease.hand_over().await;
        self.process.end(End::Stopped);
    }

    async fn become_active(&self, clock: Arc<dyn Clock>) -> Option<ActiveLease> {
        let address = self.number.to_string();
        let request = LeaseRequest { owner: address.clone(), address, lasts: LEASE };
        let connect = || {
            let (world, network) = (Arc::clone(self.world()), self.network.clone());
            let connection = LeaseConnection { world, instance: self.number, network };
            ready(Ok::<_, ConnectFailure<Infallible>>(Arc::new(connection) as Arc<dyn LeaseStore>))
        };
        let show = |holder: Option<&LeaseHolder>| {
            self.process.known.lock().active = holder.and_then(|holder| holder.address.parse().ok());
        };
        let Ok((lease, held)) = acquire(connect, &request, &*clock, show, |_| {}).await;
        ActiveLease::keep(lease, held, OnLoss::StartOver, clock, self.process.clone()).ok()
    }
}

/// The defect that the lease is judged by the wall clock.
struct OnTheWall(WallClock);

#[async_trait]
impl Clock for OnTheWall {
    fn now(&self) -> UnixMillis {
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.now().0)
    }

    async fn sleep(&self, duration: Duration) {
        self.0.sleep(duration).await;
    }
}
