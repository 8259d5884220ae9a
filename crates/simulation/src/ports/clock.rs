//! The machine's clocks, as the service sees them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::Clock;

use crate::world::time::Time;

/// The clocks of a machine in virtual time; the wall clock may be set.
#[derive(Clone)]
pub struct WallClock {
    /// What time it is.
    pub time: Arc<Time>,
    /// By how many milliseconds this machine's wall clock is ahead of everybody else's.
    pub ahead: Arc<AtomicI64>,
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> UnixMillis {
        let ahead = self.ahead.load(Ordering::Relaxed);
        UnixMillis(self.time.wall().0.saturating_add_signed(ahead))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.time.passed())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
