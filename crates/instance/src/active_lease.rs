//! Renews the lease of the active instance, and stops the process when the lease is lost.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use usher_engine::ports::Clock;
use usher_nostr_connection::WriteGate;

use crate::lease_store::LeaseStore;

/// Renewals within the duration of one lease.
const RENEWALS: u32 = 5;

/// Time limit for releasing the lease at shutdown. Container runtimes kill the process soon after.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(1);

/// Completes when the lease has expired or was handed over.
pub type Watching = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Control over this process.
pub trait Process: Send + Sync + 'static {
    /// Runs `watching` on a thread of its own, so that a busy runtime does not delay it.
    ///
    /// # Errors
    /// When the thread cannot be started.
    fn watch(&self, watching: Watching) -> std::io::Result<()>;

    /// Ends all activity of the process at once, as `kill -9` would, and restarts it as a standby.
    fn start_over(&self, why: &'static str);

    /// Ends the process, and says why.
    fn exit(&self, why: &'static str);
}

/// Whether this instance holds the lease, without which nothing may reach a wallet or an app. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LeaseGate(Option<Arc<Kept>>);

impl LeaseGate {
    /// Whether the gate is open; always true without a lease (SQLite).
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(|kept| kept.left() > Duration::ZERO && *kept.on_loss.lock() != OnLoss::Nothing)
    }

    /// The gate for connections to relays: messages queued before a pause of the process are not sent after it.
    pub fn of_connections(&self) -> Option<WriteGate> {
        let gate = self.clone();
        self.0.is_some().then(|| WriteGate(Arc::new(move || gate.is_open())))
    }
}

/// What a process does when it loses the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// Restarts as a standby.
    StartOver,
    /// Exits.
    Exit,
    /// Nothing: the lease was released or its loss was already handled. Closes the [`LeaseGate`].
    Nothing,
}

/// A lease that this instance holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The epoch of the store's writes.
    pub epoch: u64,
    /// Until when the lease is certainly held, on the monotonic clock, measured from before the request to the database. An
    /// instance that has not renewed it by then stops everything it does outside of the database.
    pub certain_until: Duration,
    /// Duration of the lease without a renewal.
    pub lasts: Duration,
}

struct Kept {
    clock: Arc<dyn Clock>,
    process: Arc<dyn Process>,
    certain_until: Mutex<Duration>,
    on_loss: Mutex<OnLoss>,
}

usher_protocol::debug_shows!(Kept { on_loss });

impl Kept {
    fn left(&self) -> Duration {
        self.certain_until.lock().saturating_sub(self.clock.monotonic())
    }

    /// Closes the gate and acts on the loss, once. Logs nothing before that: writing to a blocked log could delay it.
    fn lost(&self, why: &'static str) {
        let on_loss = std::mem::replace(&mut *self.on_loss.lock(), OnLoss::Nothing);
        match on_loss {
            OnLoss::StartOver => self.process.start_over(why),
            OnLoss::Exit => self.process.exit(why),
            OnLoss::Nothing => {}
        }
    }

    /// Waits for the lease to expire, until `ended`.
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

/// The lease that makes this instance the active one, renewed until it is handed over. When it is lost, all activity of the
/// process ends at once, as with `kill -9`, which loses nothing.
pub struct ActiveLease {
    lease: Arc<dyn LeaseStore>,
    epoch: u64,
    kept: Arc<Kept>,
    renewing: JoinHandle<()>,
    watching: DropGuard,
}

impl ActiveLease {
    /// Starts to renew and watch the lease.
    ///
    /// # Errors
    /// When the thread of [`Process::watch`] cannot be started.
    pub fn keep(
        lease: Arc<dyn LeaseStore>,
        held: Held,
        on_loss: OnLoss,
        clock: Arc<dyn Clock>,
        process: Arc<dyn Process>,
    ) -> std::io::Result<Self> {
        let (certain_until, on_loss) = (Mutex::new(held.certain_until), Mutex::new(on_loss));
        let kept = Arc::new(Kept { clock, process, certain_until, on_loss });
        let ended = CancellationToken::new();
        kept.process.watch(Box::pin(Arc::clone(&kept).watch(ended.clone())))?;
        #[expect(clippy::disallowed_methods, reason = "the lease owns the task, and ends it")]
        let renewing = tokio::spawn(renew(Arc::clone(&lease), held, Arc::clone(&kept)));
        Ok(Self { lease, epoch: held.epoch, kept, renewing, watching: ended.drop_guard() })
    }

    /// The gate that is open while the lease holds.
    pub fn gate(&self) -> LeaseGate {
        LeaseGate(Some(Arc::clone(&self.kept)))
    }

    /// The epoch of the store's writes.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// At shutdown: a loss of the lease from now on ends the process.
    pub fn exit_on_loss(&self) {
        *self.kept.on_loss.lock() = OnLoss::Exit;
    }

    /// Closes the gate and releases the lease, so that another instance becomes active at once.
    pub async fn hand_over(self) {
        *self.kept.on_loss.lock() = OnLoss::Nothing;
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

async fn renew(lease: Arc<dyn LeaseStore>, held: Held, kept: Arc<Kept>) {
    let Held { epoch, lasts, .. } = held;
    let pause = lasts / RENEWALS;
    loop {
        kept.clock.sleep(pause).await;
        let requested_at = kept.clock.monotonic();
        // A renewal that times out drops its connection; the next one opens another.
        match tokio::time::timeout(pause * 2, lease.renew(epoch, lasts)).await {
            Ok(Ok(true)) => *kept.certain_until.lock() = requested_at + lasts,
            Ok(Ok(false)) => return kept.lost("another instance may have the lease"),
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the lease was not renewed; trying again");
            }
            Err(_elapsed) => tracing::warn!("the database does not answer in time; trying again"),
        }
    }
}
