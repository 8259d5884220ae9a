//! Keeps the lease of the active instance.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use usher_store::{HeldLease, Lease};

use crate::process;

/// The lease is renewed this often while it lasts once.
const RENEWALS: u32 = 5;

/// How long the database may take to accept that the lease is handed over. Container runtimes kill soon after.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether this instance holds the lease: nothing may reach a wallet or an app otherwise. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LeaseGate(Option<Arc<Kept>>);

impl LeaseGate {
    /// Whether it is open: always, when the database is a file of this instance.
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(|kept| kept.left() > Duration::ZERO && kept.on_loss() != Some(OnLoss::Nothing))
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

#[derive(Debug)]
struct Kept {
    certain_until: Mutex<Instant>,
    on_loss: AtomicU8,
}

impl Kept {
    const ALL: [OnLoss; 3] = [OnLoss::StartOver, OnLoss::Exit, OnLoss::Nothing];

    fn left(&self) -> Duration {
        self.certain_until.lock().saturating_duration_since(Instant::now())
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
        match self.on_loss() {
            Some(OnLoss::StartOver) | None => process::start_over(why),
            Some(OnLoss::Exit) => std::process::exit(1),
            Some(OnLoss::Nothing) => {}
        }
    }

    /// Watches the time until `ended`.
    fn watch(&self, ended: &Receiver<Infallible>) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return self.lost("the lease was not renewed in time");
            }
            match ended.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(never) => match never {},
            }
        }
    }
}

/// The lease that makes this instance the active one. It is renewed until it is handed over. When it is lost, whatever the
/// process was doing ends at once with its memory, as with `kill -9`, which loses nothing.
pub struct ActiveLease {
    lease: Arc<Lease>,
    epoch: u64,
    kept: Arc<Kept>,
    renewing: JoinHandle<()>,
    /// Dropping it ends the thread that watches.
    watching: Sender<Infallible>,
}

impl ActiveLease {
    /// Keeps this lease, which lasts so long once.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn keep(lease: Arc<Lease>, held: HeldLease, lasts: Duration, on_loss: OnLoss) -> std::io::Result<Self> {
        let kept =
            Arc::new(Kept { certain_until: Mutex::new(held.certain_until), on_loss: AtomicU8::new(on_loss as u8) });
        let (watching, ended) = channel::<Infallible>();
        // A thread of its own: it is not late when the others are busy, and it wakes with the process after a pause.
        std::thread::Builder::new().name("lease".to_owned()).spawn({
            let kept = Arc::clone(&kept);
            move || kept.watch(&ended)
        })?;
        #[expect(clippy::disallowed_methods, reason = "the lease owns the task, and ends it")]
        let renewing = tokio::spawn(renew(Arc::clone(&lease), held.epoch, lasts, Arc::clone(&kept)));
        Ok(Self { lease, epoch: held.epoch, kept, renewing, watching })
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
async fn renew(lease: Arc<Lease>, epoch: u64, lasts: Duration, kept: Arc<Kept>) {
    let pause = lasts / RENEWALS;
    loop {
        tokio::time::sleep(pause).await;
        // One that takes too long is given up with its connection: the next one has another.
        match tokio::time::timeout(pause * 2, lease.renew(epoch, lasts)).await {
            Ok(Ok(Some(held))) => *kept.certain_until.lock() = held.certain_until,
            Ok(Ok(None)) => kept.lost("another instance may have the lease"),
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the lease was not renewed; trying again");
            }
            Err(_elapsed) => tracing::warn!("the database does not answer in time; trying again"),
        }
    }
}
