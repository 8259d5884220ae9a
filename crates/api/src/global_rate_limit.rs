//! The limit on requests per second, for the whole service.

use std::num::NonZeroU32;
use std::time::Duration;

use parking_lot::Mutex;
use usher_engine::UnixMillis;
use usher_token_bucket::{Rate, TokenBucket};

const SECOND: Duration = Duration::from_secs(1);

/// Holds one second's worth of requests. Only requests with a valid token count: otherwise an unauthenticated peer
/// could use up the app's share.
pub(crate) struct GlobalRateLimit(Mutex<TokenBucket<UnixMillis>>);

impl GlobalRateLimit {
    /// Allows `per_second` requests in a second, at most that many at once.
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        let rate = Rate::full_after(per_second.get(), SECOND);
        Self(Mutex::new(TokenBucket::new(rate, UnixMillis(0))))
    }

    /// Takes one request from the bucket, or returns the seconds until the next try.
    pub(crate) fn take(&self, now: UnixMillis) -> Result<(), u64> {
        let taken = self.0.lock().try_take(now);
        taken.map_err(|wait| wait.as_nanos().div_ceil(SECOND.as_nanos()).try_into().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(per_second: u32) -> GlobalRateLimit {
        GlobalRateLimit::new(NonZeroU32::new(per_second).unwrap())
    }

    fn admitted(limit: &GlobalRateLimit, now: u64, asked: usize) -> usize {
        (0..asked).filter(|_| limit.take(UnixMillis(now)).is_ok()).count()
    }

    #[test]
    fn allows_the_configured_number_per_second() {
        let limit = limit(10);
        assert_eq!(admitted(&limit, 1_000_000, 50), 10);
        assert_eq!(limit.take(UnixMillis(1_000_000)), Err(1));
        assert_eq!(admitted(&limit, 1_000_099, 50), 0);
        assert_eq!(admitted(&limit, 1_000_100, 50), 1);
        assert_eq!(admitted(&limit, 1_005_000, 50), 10, "what was not used does not pile up");
    }

    #[test]
    fn clock_set_back_does_not_block_requests() {
        let limit = limit(10);
        assert_eq!(admitted(&limit, 3_600_000, 10), 10);
        assert_eq!(admitted(&limit, 0, 10), 0);
        assert_eq!(admitted(&limit, 1_000, 10), 10);
    }
}
