use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use crate::UnixMillis;

/// Two clocks: the wall clock, which may be set, and a monotonic one, for durations.
///
/// Deadlines are wall clock times, because they are stored and sent to wallets. Waiting uses the monotonic clock,
/// except for due dates of subscriptions. Implementations for tests must follow these rules:
///
/// - Passing time advances both clocks equally.
/// - Setting the wall clock, in either direction, changes only [`now`](Self::now).
/// - [`monotonic`](Self::monotonic) never decreases while the process runs.
/// - [`sleep`](Self::sleep) depends only on the monotonic clock.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The wall clock's time.
    fn now(&self) -> UnixMillis;

    /// Time since a fixed moment, on the monotonic clock.
    fn monotonic(&self) -> Duration;

    /// Returns when the monotonic clock shows `at`.
    async fn sleep_until(&self, at: Duration);

    /// Returns when the monotonic clock has advanced by `duration`.
    async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.monotonic().saturating_add(duration)).await;
    }
}

/// The machine's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

#[async_trait]
impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)] // the one place
    fn now(&self) -> UnixMillis {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }

    fn monotonic(&self) -> Duration {
        STARTED.elapsed()
    }

    async fn sleep_until(&self, at: Duration) {
        tokio::time::sleep(at.saturating_sub(self.monotonic())).await;
    }
}
