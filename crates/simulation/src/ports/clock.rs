//! The machine's clock, as the service sees it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::Clock;

use crate::world::time::Time;

/// The longest single sleep, as of the real one.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// A clock on the wall, in virtual time.
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

    async fn sleep_until(&self, deadline: UnixMillis) {
        loop {
            let left = deadline.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
        }
    }
}
