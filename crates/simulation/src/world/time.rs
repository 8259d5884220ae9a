//! Virtual time: time without work passes at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use usher_engine::UnixMillis;
use usher_engine::ports::Clock;

/// A runtime whose time passes when nothing is left to do.
pub(crate) fn runtime() -> Result<Runtime, String> {
    Builder::new_current_thread().enable_time().start_paused(true).build().map_err(|error| error.to_string())
}

/// So many milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What every clock on the wall shows at the beginning, in Unix milliseconds: 15 January 2027, 08:00 UTC.
const BEGINNING: i64 = 1_800_000_000_000;

#[derive(Debug, Default)]
pub(crate) struct Time {
    /// When the runtime that runs now began, by its clock, and what time it was then.
    began: Mutex<(Option<Instant>, u64)>,
    /// What clocks on the wall are ahead of the beginning and the time that has passed since, in milliseconds.
    skew: AtomicI64,
}

impl Time {
    /// Milliseconds since the beginning. Never goes back.
    pub(crate) fn passed(&self) -> u64 {
        match *self.began.lock() {
            (Some(began), before) => before + millis(began.elapsed()),
            (None, before) => before,
        }
    }

    /// Lets a runtime do this: time passes by its clock meanwhile.
    pub(crate) fn run<T>(&self, runtime: &Runtime, work: impl Future<Output = T>) -> T {
        runtime.block_on(async {
            self.began.lock().0 = Some(Instant::now());
            let result = work.await;
            let passed = self.passed();
            *self.began.lock() = (None, passed);
            result
        })
    }

    /// Lets time go by while there is no runtime.
    pub(crate) fn wait(&self, until: u64) {
        let mut began = self.began.lock();
        began.1 = began.1.max(until);
    }

    /// The wall clocks: the service's and everybody else's.
    pub(crate) fn wall(&self) -> UnixMillis {
        let passed = i64::try_from(self.passed()).unwrap_or(i64::MAX);
        let wall = BEGINNING.saturating_add(passed).saturating_add(self.skew.load(Ordering::Relaxed));
        UnixMillis(u64::try_from(wall).unwrap_or_default())
    }

    pub(crate) fn set_back(&self, by: Duration) {
        self.skew.fetch_sub(i64::try_from(by.as_millis()).unwrap_or_default(), Ordering::Relaxed);
    }

    pub(crate) fn set_forward(&self, by: Duration) {
        self.skew.fetch_add(i64::try_from(by.as_millis()).unwrap_or_default(), Ordering::Relaxed);
    }
}

/// The clocks of the machine in virtual time.
pub(crate) struct WallClock(pub(crate) Arc<Time>);

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> UnixMillis {
        self.0.wall()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.passed())
    }

    async fn sleep_until(&self, at: Duration) {
        tokio::time::sleep(at.saturating_sub(self.monotonic())).await;
    }
}
