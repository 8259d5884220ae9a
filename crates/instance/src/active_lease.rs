//! Keeps the lease of the active instance.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use usher_engine::ports::Clock;
use usher_nostr_connection::WriteGate;

use crate::lease_store::LeaseStore;

/// The lease is renewed this often while it lasts once.
const RENEWALS: u32 = 5;

/// How long the database may take to accept that the lease is handed over. Container runtimes kill soon after.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(1);

/// Waits until the lease is over, or handed over.
pub type Watching = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a process can do about itself.
pub trait Process: Send + Sync + 'static {
    /// Runs this apart from everything else, so that it is not late when the others are busy.
    ///
    /// # Errors
    /// When there can be no thread.
    fn watch(&self, watching: Watching) -> std::io::Result<()>;

    /// Ends everything that the process does, as `kill -9` would; it is a standby from then on.
    fn start_over(&self, why: &'static str);

    /// Ends the process.
    fn exit(&self);
}

/// Whether this instance holds the lease: nothing may reach a wallet or an app otherwise. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LeaseGate(Option<Arc<Kept>>);

impl LeaseGate {
    /// Whether it is open: always, when the database is a file of this instance.
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(|kept| kept.left() > Duration::ZERO && kept.on_loss() != Some(OnLoss::Nothing))
    }

    /// The same for connections to relays: what was queued while the process was paused does not leave it afterwards.
    pub fn of_connections(&self) -> Option<WriteGate> {
        let gate = self.clone();
        self.0.is_some().then(|| WriteGate(Arc::new(move || gate.is_open())))
    }
}

/// What becomes of a process that loses the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// It is a standby from then on.
    StartOver,
    /// It ends.
    Exit,
    /// Nothing: it has given the lease up.
    Nothing,
}

/// A lease that this instance holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// What its store writes under.
    pub epoch: u64,
    /// Until then, by the monotonic clock, it certainly holds, unless it was handed over: counted from before the database was
    /// asked. An instance that has not renewed it by then ends everything that it does outside of the database.
    pub certain_until: Duration,
    /// How long it lasts without a renewal.
    pub lasts: Duration,
}

struct Kept {
    clock: Arc<dyn Clock>,
    process: Arc<dyn Process>,
    certain_until: Mutex<Duration>,
    on_loss: AtomicU8,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("on_loss", &self.on_loss()).finish_non_exhaustive()
    }
}

impl Kept {
    const ALL: [OnLoss; 3] = [OnLoss::StartOver, OnLoss::Exit, OnLoss::Nothing];

    fn left(&self) -> Duration {
        self.certain_until.lock().saturating_sub(self.clock.monotonic())
    }

    fn on_loss(&self) -> Option<OnLoss> {
        Self::ALL.get(usize::from(self.on_loss.load(Ordering::SeqCst))).copied()
    }

    fn set_on_loss(&self, on_loss: OnLoss) {
        self.on_loss.store(on_loss as u8, Ordering::SeqCst);
    }

    /// Ends everything that this process does, unless it has given the lease up. Logs nothing before that: a log that is not read
    /// would hold it up.
    fn lost(&self, why: &'static str) {
        let on_loss = self.on_loss();
        // Closes the gate, and is said once.
        self.set_on_loss(OnLoss::Nothing);
        match on_loss {
            Some(OnLoss::StartOver) | None => self.process.start_over(why),
            Some(OnLoss::Exit) => self.process.exit(),
            Some(OnLoss::Nothing) => {}
        }
    }

    /// Watches the time until `ended`.
    async fn watch(self: Arc<Self>, ended: CancellationToken) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return self.lost("the lease was not renewed in time");
            }
            tokio::select! {
                () = self.clock.sleep(left) => {}
                () = ended.cancelled() => return,
            }
        }
    }
}

/// The lease that makes this instance the active one. It is renewed until it is handed over. When it is lost, whatever the
/// process was doing ends at once with its memory, as with `kill -9`, which loses nothing.
pub struct ActiveLease {
    lease: Arc<dyn LeaseStore>,
    epoch: u64,
    kept: Arc<Kept>,
    renewing: JoinHandle<()>,
    /// Ends the watching when it is dropped.
    watching: DropGuard,
}

impl ActiveLease {
    /// Keeps this lease.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn keep(
        lease: Arc<dyn LeaseStore>,
        held: Held,
        on_loss: OnLoss,
        clock: Arc<dyn Clock>,
        process: Arc<dyn Process>,
    ) -> std::io::Result<Self> {
        let (certain_until, on_loss) = (Mutex::new(held.certain_until), AtomicU8::new(on_loss as u8));
        let kept = Arc::new(Kept { clock, process, certain_until, on_loss });
        let ended = CancellationToken::new();
        kept.process.watch(Box::pin(Arc::clone(&kept).watch(ended.clone())))?;
        #[expect(clippy::disallowed_methods, reason = "the lease owns the task, and ends it")]
        let renewing = tokio::spawn(renew(Arc::clone(&lease), held, Arc::clone(&kept)));
        Ok(Self { lease, epoch: held.epoch, kept, renewing, watching: ended.drop_guard() })
    }

    /// What may reach others.
    pub fn gate(&self) -> LeaseGate {
        LeaseGate(Some(Arc::clone(&self.kept)))
    }

    /// Its epoch, under which the store writes.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The process stops: if it loses the lease from now on, it ends.
    pub fn exit_on_loss(&self) {
        self.kept.set_on_loss(OnLoss::Exit);
    }

    /// Lets another instance be the active one at once. Nothing reaches others from here any more.
    pub async fn hand_over(self) {
        self.kept.set_on_loss(OnLoss::Nothing);
        drop(self.watching);
        self.renewing.abort();
        match tokio::time::timeout(HAND_OVER_TIMEOUT, self.lease.hand_over(self.epoch)).await {
            Ok(Ok(_)) => tracing::info!("another instance can become the active one"),
            Ok(Err(error)) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the lease was not handed over: another instance becomes the active one when it expires"
            ),
            Err(_elapsed) => tracing::warn!(
                "the database does not answer: another instance becomes the active one when the lease expires"
            ),
        }
    }
}

/// Renews the lease for as long as it is held.
async fn renew(lease: Arc<dyn LeaseStore>, held: Held, kept: Arc<Kept>) {
    let Held { epoch, lasts, .. } = held;
    let pause = lasts / RENEWALS;
    loop {
        kept.clock.sleep(pause).await;
        let asked_at = kept.clock.monotonic();
        // One that takes too long is given up with its connection: the next one has another.
        match tokio::time::timeout(pause * 2, lease.renew(epoch, lasts)).await {
            Ok(Ok(true)) => *kept.certain_until.lock() = asked_at + lasts,
            Ok(Ok(false)) => return kept.lost("another instance may have the lease"),
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the lease was not renewed; trying again");
            }
            Err(_elapsed) => tracing::warn!("the database does not answer in time; trying again"),
        }
    }
}
