//! The machine's clocks, as the service sees them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::Clock;

use crate::world::time::Time;

/// The clocks of a machine in virtual time; the wall clock may be set.
pub struct WallClock(pub Arc<Time>);

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> UnixMillis {
        self.0.wall()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.passed())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
