//! Keeps the lease of the active instance.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use usher_store::{HeldLease, Lease};

use crate::output::tell;
use crate::process;

/// The lease is renewed this often while it lasts once.
const RENEWALS: u32 = 5;

/// Whether this instance certainly holds the lease: nothing may reach a wallet or an app otherwise. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LeaseGate(Option<Arc<Mutex<Instant>>>);

impl LeaseGate {
    /// Whether it is open: always, when the database is a file of this instance.
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(|certain_until| Instant::now() < *certain_until.lock())
    }
}

/// What becomes of a process that loses the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// It is a standby from then on.
    StartOver,
    /// It ends.
    Exit,
}

/// The lease that makes this instance the active one. It is renewed until it is handed over. When it is lost, whatever the
/// process was doing ends at once with its memory, as with `kill -9`, which loses nothing.
pub struct ActiveLease {
    lease: Arc<Lease>,
    epoch: u64,
    certain_until: Arc<Mutex<Instant>>,
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
        let certain_until = Arc::new(Mutex::new(held.certain_until));
        let (watching, is_watched) = channel::<Infallible>();
        // A thread of its own: it is not late when the others are busy, and it wakes with the process after a pause.
        std::thread::Builder::new().name("lease".to_owned()).spawn({
            let certain_until = Arc::clone(&certain_until);
            move || {
                loop {
                    let left = certain_until.lock().saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        lost("it was not renewed in time", on_loss);
                    }
                    match is_watched.recv_timeout(left) {
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return,
                        Ok(never) => match never {},
                    }
                }
            }
        })?;
        #[expect(clippy::disallowed_methods, reason = "the lease owns the task, and ends it")]
        let renewing = tokio::spawn(renew(Arc::clone(&lease), held.epoch, lasts, Arc::clone(&certain_until), on_loss));
        Ok(Self { lease, epoch: held.epoch, certain_until, renewing, watching })
    }

    /// What may reach others.
    pub fn gate(&self) -> LeaseGate {
        LeaseGate(Some(Arc::clone(&self.certain_until)))
    }

    /// Its epoch, under which the store writes.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Lets another instance be the active one at once. Comes after everything else has stopped.
    pub async fn hand_over(self) {
        drop(self.watching);
        self.renewing.abort();
        match self.lease.hand_over(self.epoch).await {
            Ok(_) => tracing::info!("another instance can become the active one"),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the lease was not handed over: another instance becomes the active one when it expires"
            ),
        }
    }
}

/// Renews the lease for as long as it is held.
async fn renew(lease: Arc<Lease>, epoch: u64, lasts: Duration, certain_until: Arc<Mutex<Instant>>, on_loss: OnLoss) {
    let pause = lasts / RENEWALS;
    loop {
        tokio::time::sleep(pause).await;
        match tokio::time::timeout(lasts, lease.renew(epoch, lasts)).await {
            Ok(Ok(Some(held))) => *certain_until.lock() = held.certain_until,
            Ok(Ok(None)) => lost("another instance may have it", on_loss),
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the lease was not renewed; trying again");
            }
            Err(_elapsed) => tracing::warn!("the database does not answer in time; trying again"),
        }
    }
}

/// Ends everything that this process does.
fn lost(why: &'static str, on_loss: OnLoss) -> ! {
    match on_loss {
        OnLoss::StartOver => {
            tracing::error!(why, "this instance is not the active one any more: it starts over as a standby");
            process::start_over()
        }
        OnLoss::Exit => {
            tell(&format!("usher: the lease of the database was lost ({why}); run the command again"));
            std::process::exit(1)
        }
    }
}
