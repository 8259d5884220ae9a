//! The clock port.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use crate::UnixMillis;

/// Tells the time and waits for it; tests turn it by hand.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> UnixMillis;

    /// Returns when `deadline` has come.
    async fn sleep_until(&self, deadline: UnixMillis);
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// The longest single sleep: the machine's clock may be set while we sleep, so look at it again now and then.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

#[async_trait]
impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)] // the one place
    fn now(&self) -> UnixMillis {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
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
