//! Virtual time: time without work passes at once.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use usher_engine::UnixMillis;

/// What every clock on the wall shows at the beginning, in Unix milliseconds: 15 January 2027, 08:00 UTC.
const BEGINNING: i64 = 1_800_000_000_000;

/// The time.
#[derive(Debug, Default)]
pub struct Time {
    /// When the runtime that runs now began, by its clock, and what time it was then.
    began: Mutex<(Option<Instant>, u64)>,
    /// What clocks on the wall are ahead of the beginning and the time that has passed since, in milliseconds.
    skew: AtomicI64,
}

impl Time {
    /// Milliseconds since the beginning. Never goes back.
    pub fn passed(&self) -> u64 {
        match *self.began.lock() {
            (Some(began), before) => before + u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            (None, before) => before,
        }
    }

    /// A runtime begins; to be called in it.
    pub fn begin(&self) {
        let mut began = self.began.lock();
        began.0 = Some(Instant::now());
    }

    /// It is this many milliseconds since the beginning, and no runtime runs.
    pub fn set(&self, now: u64) {
        *self.began.lock() = (None, now);
    }

    /// It ends: time stands still until [`wait`](Self::wait) or the next one.
    pub fn end(&self) {
        let passed = self.passed();
        *self.began.lock() = (None, passed);
    }

    /// Lets time go by while there is no runtime.
    pub fn wait(&self, until: u64) {
        let mut began = self.began.lock();
        began.1 = began.1.max(until);
    }

    /// The wall clocks: the service's and everybody else's.
    pub fn wall(&self) -> UnixMillis {
        let passed = i64::try_from(self.passed()).unwrap_or(i64::MAX);
        let wall = BEGINNING.saturating_add(passed).saturating_add(self.skew.load(Ordering::Relaxed));
        UnixMillis(u64::try_from(wall).unwrap_or_default())
    }

    /// Sets the clocks on the wall back.
    pub fn set_back(&self, by: Duration) {
        self.skew.fetch_sub(i64::try_from(by.as_millis()).unwrap_or_default(), Ordering::Relaxed);
    }

    /// Sets the clocks on the wall forward.
    pub fn set_forward(&self, by: Duration) {
        self.skew.fetch_add(i64::try_from(by.as_millis()).unwrap_or_default(), Ordering::Relaxed);
    }
}
