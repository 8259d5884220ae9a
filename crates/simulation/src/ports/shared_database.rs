//! The database that several instances share: SQLite behind what PostgreSQL adds to it. It can be slow, be cut off
//! from one instance, and lose answers; every transaction checks the lease when it arrives.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use usher_engine::ports::{AllCommitted, Commit, DeliveryAttempt, StoreError};
use usher_instance::LeaseStore;
use usher_store::conformance::FullStore;
use usher_store::{Acquired, HeldLease, LeaseHolder, LeaseRequest};
use usher_testing::ports::{InterceptedStore, Interceptor, Run, StoreCall};

use super::disk::{noted_attempt, noted_commits, wait};
use crate::world::World;
use crate::world::instances::{ANSWERED, Mutation, ON_ITS_WAY, READ, Seat};

/// How long a connection, or the outcome of a transaction, is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interval between two attempts to connect.
const AGAIN: Duration = Duration::from_millis(200);

/// What stands between the active instance and its store.
pub(crate) struct Connection {
    world: Arc<World>,
    seat: Seat,
    /// One transaction at a time.
    writer: Mutex<()>,
}

impl Connection {
    /// The connection of an instance that has a lease.
    pub(crate) fn open(
        store: Arc<dyn FullStore>,
        world: Arc<World>,
        seat: Seat,
    ) -> InterceptedStore<dyn FullStore, Self> {
        InterceptedStore::new(store, Self { world, seat, writer: Mutex::new(()) })
    }

    fn is_cut(&self) -> bool {
        let state = self.world.lock();
        state.instances.is_cut_from_database(self.seat.instance, state.now())
    }

    async fn connect(&self) -> Result<(), StoreError> {
        let deadline = Instant::now() + PATIENCE;
        while self.is_cut() {
            if Instant::now() >= deadline {
                return Err(failed("no connection"));
            }
            sleep(AGAIN).await;
        }
        Ok(())
    }

    async fn travel(&self) {
        let way = self.world.lock().way_to_database();
        sleep(way).await;
    }

    /// Checks the lease, as the first statement of a transaction does.
    fn arrive(&self) -> Result<(), StoreError> {
        let mut state = self.world.lock();
        let Seat { instance, epoch } = self.seat;
        let now = state.now();
        if state.instances.lease.is_of(epoch, now) {
            return Ok(());
        }
        if state.instances.mutation != Some(Mutation::NoEpochCheck) {
            state.log(&format!("the database refuses a transaction of instance {instance}, epoch {epoch}"));
            return Err(StoreError::NotActive);
        }
        state.violation("no-write-after-the-lease", &format!("instance {instance} writes under epoch {epoch}"));
        Ok(())
    }

    /// The answer to COMMIT is lost: what became of the transaction is found out over a new connection.
    async fn find_out<T>(&self, written: T) -> Result<T, StoreError> {
        self.world.lock().log("the answer to a commit is lost");
        self.connect().await?;
        self.travel().await;
        let state = self.world.lock();
        if state.instances.lease.is_of(self.seat.epoch, state.now()) {
            Ok(written)
        } else {
            Err(failed("unknown outcome"))
        }
    }
}

fn failed(why: &'static str) -> StoreError {
    StoreError::Failed(why.into())
}

impl Interceptor for Connection {
    async fn around<T: Send>(&self, call: StoreCall, run: Run<'_, T>) -> Result<T, StoreError> {
        if !call.writes {
            self.connect().await?;
            self.travel().await;
            let read = wait(run);
            self.world.instant(READ).await;
            return read;
        }
        self.world.instant("before a transaction").await;
        let _turn = self.writer.lock().await;
        self.connect().await?;
        self.travel().await;
        // Its sender may be paused meanwhile: then it arrives late.
        self.world.instant(ON_ITS_WAY).await;
        if self.is_cut() {
            return Err(failed("the connection was lost"));
        }
        self.arrive()?;
        let written = wait(run)?;
        self.world.instant("after a transaction, before anybody knows of it").await;
        self.travel().await;
        let is_lost = self.is_cut() || self.world.lock().loses_answer();
        if is_lost {
            return self.find_out(written).await;
        }
        self.world.instant(ANSWERED).await;
        Ok(written)
    }

    fn note_commits<'a>(&'a self, commits: &'a [Commit], run: Run<'a, AllCommitted>) -> Run<'a, AllCommitted> {
        noted_commits(&self.world, commits, run)
    }

    fn note_attempt<'a>(&'a self, attempt: &'a DeliveryAttempt, run: Run<'a, bool>) -> Run<'a, bool> {
        noted_attempt(&self.world, attempt, run)
    }
}

/// The way of an instance to the row of the lease.
pub(crate) struct LeaseConnection {
    pub(crate) world: Arc<World>,
    pub(crate) instance: usize,
    /// Where requests are on their way, and arrive whether their sender still runs or not.
    pub(crate) network: Handle,
}

impl LeaseConnection {
    /// Asks, and waits for the answer; for ever, if it is lost.
    async fn ask<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut crate::world::State, usize) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (world, instance) = (Arc::clone(&self.world), self.instance);
        let travelling = self.network.spawn(async move {
            let is_cut = |state: &crate::world::State| state.instances.is_cut_from_database(instance, state.now());
            let there = world.lock().way_to_database();
            sleep(there).await;
            let (answer, back) = {
                let mut state = world.lock();
                if is_cut(&state) {
                    return None;
                }
                let answer = change(&mut state, instance);
                let back = state.way_to_database();
                (answer, (!state.loses_answer()).then_some(back))
            };
            sleep(back?).await;
            (!is_cut(&world.lock())).then_some(answer)
        });
        match travelling.await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => std::future::pending().await,
            Err(_) => Err(StoreError::Closed),
        }
    }
}

#[async_trait]
impl LeaseStore for LeaseConnection {
    async fn acquire(&self, request: &LeaseRequest) -> Result<Acquired, StoreError> {
        let lasts = request.lasts;
        self.ask(move |state, instance| {
            let now = state.now();
            if let Some(epoch) = state.instances.lease.acquire(instance, lasts, now) {
                state.log(&format!("instance {instance} takes the lease, epoch {epoch}"));
                return Acquired::Held(HeldLease { epoch });
            }
            let lease = &state.instances.lease;
            let remaining = lease.remaining(now).unwrap_or_default();
            let owner = lease.owner.to_string();
            Acquired::Taken(LeaseHolder { address: owner.clone(), owner, epoch: lease.epoch, remaining })
        })
        .await
    }

    async fn renew(&self, epoch: u64, lasts: Duration) -> Result<bool, StoreError> {
        self.ask(move |state, _| {
            let now = state.now();
            state.instances.lease.renew(epoch, lasts, now)
        })
        .await
    }

    async fn hand_over(&self, epoch: u64) -> Result<bool, StoreError> {
        self.ask(move |state, instance| {
            let now = state.now();
            let handed = state.instances.lease.hand_over(epoch, now);
            state.log(&format!("instance {instance} hands the lease over: {handed}"));
            handed
        })
        .await
    }
}
