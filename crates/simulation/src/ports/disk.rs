//! The disk: a store that is slow, is full at times, and records in the ledger what is durable.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep, sleep_until};
use usher_engine::ports::{AllCommitted, Commit, DeliveryAttempt, StoreError};
use usher_store::conformance::FullStore;
use usher_store::{SqliteOptions, SqliteStore};
use usher_testing::ports::{InterceptedStore, Interceptor, Run, StoreCall};

use crate::world::World;

pub(crate) type StoreOnDisk = InterceptedStore<dyn FullStore, Disk>;

pub(crate) struct Disk {
    world: Arc<World>,
    /// When the last transaction that was asked for will be durable: they are in the order in which they were asked for.
    last: Mutex<Instant>,
}

/// What outlives the process: its files.
pub(crate) struct Files {
    directory: TempDir,
    copies: u32,
}

impl Files {
    /// None yet; in memory, where the machine has a place for that.
    pub(crate) fn new() -> Result<Self, String> {
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).map_err(|error| error.to_string())?;
        Ok(Self { directory, copies: 0 })
    }

    fn path(&self, copy: u32) -> PathBuf {
        self.directory.path().join(copy.to_string())
    }

    pub(crate) fn open(&self) -> Result<Arc<SqliteStore>, String> {
        let path = self.path(self.copies);
        std::fs::create_dir_all(&path).map_err(|error| error.to_string())?;
        let store = SqliteStore::open(&path.join("usher.db"), SqliteOptions::default());
        Ok(Arc::new(store.map_err(|error| error.to_string())?))
    }

    /// The process dies: only the files at this instant survive, whatever the store does while it ends.
    pub(crate) fn die(&mut self) -> Result<(), String> {
        let (from, to) = (self.path(self.copies), self.path(self.copies + 1));
        self.copies += 1;
        std::fs::create_dir_all(&to).map_err(|error| error.to_string())?;
        for name in ["usher.db", "usher.db-wal"] {
            if from.join(name).exists() {
                std::fs::copy(from.join(name), to.join(name)).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

/// Waits for a future on this thread without letting virtual time pass: the real store has its own threads.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(unconstrained(future));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

impl Disk {
    pub(crate) fn with(store: Arc<dyn FullStore>, world: Arc<World>) -> StoreOnDisk {
        InterceptedStore::new(store, Self { world, last: Mutex::new(Instant::now()) })
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

/// Calls after which nobody waits for the result.
const UNANSWERED: [&str; 3] = ["forget_", "remove_", "retry_"];

impl Interceptor for Disk {
    async fn around<T: Send>(&self, call: StoreCall, run: Run<'_, T>) -> Result<T, StoreError> {
        if !call.writes {
            self.read().await;
            return wait(run);
        }
        self.write().await?;
        let written = wait(run)?;
        if !UNANSWERED.iter().any(|kind| call.method.starts_with(kind)) {
            self.written().await;
        }
        Ok(written)
    }

    /// Records in the ledger what is durable.
    fn note_commits<'a>(&'a self, commits: &'a [Commit], run: Run<'a, AllCommitted>) -> Run<'a, AllCommitted> {
        Box::pin(async move {
            let committed = run.await?;
            if let AllCommitted::Done(heads) = &committed {
                self.world.lock().committed(commits, heads);
                self.world.queued.notify_one();
            }
            Ok(committed)
        })
    }

    fn note_attempt<'a>(&'a self, attempt: &'a DeliveryAttempt, run: Run<'a, bool>) -> Run<'a, bool> {
        Box::pin(async move {
            let recorded = run.await?;
            self.world.lock().attempted(attempt);
            Ok(recorded)
        })
    }
}
