//! The clock of `usher dev`, which can be moved forward.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use usher::failure::Failure;
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock, SystemClock};
use usher_sandbox::clock::{ahead, set_ahead};

/// What is left of a sleep passes in real time also while the clock stands, if it is no longer: pauses of work in hand.
const SHORT: Duration = Duration::from_secs(1);

/// The machine's clocks, both ahead by the same time. While the clock is moved it stands, so that all that happens at a
/// stop has the time of the stop.
///
/// It never goes back against what is stored: a move is written to the folder before it begins, and the next start
/// continues there. A move that is killed on the way has reached its end then, as after a downtime.
pub(super) struct DevClock {
    folder: PathBuf,
    state: watch::Sender<State>,
    /// When sleeps of the [`WalletClock`] end, on the monotonic clock, each with a number of its own.
    stops: Mutex<BTreeSet<(Duration, u64)>>,
    next_stop: AtomicU64,
}

#[derive(Clone, Copy)]
struct State {
    ahead: Duration,
    stands_at: Option<Reading>,
}

#[derive(Clone, Copy)]
struct Reading {
    wall: UnixMillis,
    monotonic: Duration,
}

impl DevClock {
    /// The clock of the `usher dev` with this folder.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub(super) fn open(folder: &Path) -> Result<Arc<Self>, Failure> {
        let ahead = ahead(folder)
            .map_err(|error| Failure::said(format!("cannot read clock-ahead in {}: {error}", folder.display())))?;
        let state = watch::Sender::new(State { ahead, stands_at: None });
        let folder = folder.to_owned();
        Ok(Arc::new(Self { folder, state, stops: Mutex::default(), next_stop: AtomicU64::default() }))
    }

    /// By how much it is ahead of the machine's clock.
    pub(super) fn ahead(&self) -> Duration {
        self.state.borrow().ahead
    }

    /// Stops the clock, which is to move by so much.
    ///
    /// # Errors
    /// If the folder cannot be written; the clock runs on then.
    pub(super) fn stand(&self, by: Duration) -> std::io::Result<()> {
        set_ahead(&self.folder, self.ahead().saturating_add(by))?;
        let reading = self.read();
        self.state.send_modify(|state| state.stands_at = Some(reading));
        Ok(())
    }

    /// Moves the standing clock, and wakes who slept until then.
    pub(super) fn step(&self, by: Duration) {
        self.state.send_modify(|state| {
            state.ahead = state.ahead.saturating_add(by);
            if let Some(reading) = &mut state.stands_at {
                reading.wall = reading.wall.plus(by);
                reading.monotonic = reading.monotonic.saturating_add(by);
            }
        });
    }

    pub(super) fn run(&self) {
        self.state.send_modify(|state| state.stands_at = None);
    }

    /// When the wallet's first sleep ends, from now.
    pub(super) fn first_stop(&self) -> Option<Duration> {
        let (at, _) = *self.stops.lock().first()?;
        Some(at.saturating_sub(self.monotonic()))
    }

    fn read(&self) -> Reading {
        let State { ahead, stands_at } = *self.state.borrow();
        stands_at.unwrap_or_else(|| Reading {
            wall: SystemClock.now().plus(ahead),
            monotonic: SystemClock.monotonic().saturating_add(ahead),
        })
    }
}

#[async_trait]
impl Clock for DevClock {
    fn now(&self) -> UnixMillis {
        self.read().wall
    }

    fn monotonic(&self) -> Duration {
        self.read().monotonic
    }

    async fn sleep_until(&self, at: Duration) {
        let mut changes = self.state.subscribe();
        loop {
            let stands = changes.borrow_and_update().stands_at.is_some();
            let left = at.saturating_sub(self.monotonic());
            tokio::select! {
                () = SystemClock.sleep(left), if !stands || left <= SHORT => return,
                // The sender lives as long as `self`.
                _ = changes.changed() => {}
            }
        }
    }
}

/// The same clock for the user's wallet, at whose sleeps a move stops.
pub(super) struct WalletClock(pub(super) Arc<DevClock>);

#[async_trait]
impl Clock for WalletClock {
    fn now(&self) -> UnixMillis {
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    async fn sleep_until(&self, at: Duration) {
        let stop = (at, self.0.next_stop.fetch_add(1, Ordering::Relaxed));
        self.0.stops.lock().insert(stop);
        let _stop = Stop(&self.0, stop);
        self.0.sleep_until(at).await;
    }
}

/// Removes the stop when the sleep ends, also if it is cancelled.
struct Stop<'a>(&'a DevClock, (Duration, u64));

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stops.lock().remove(&self.1);
    }
}
