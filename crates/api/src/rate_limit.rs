//! Requests per second, for the whole service.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use usher_engine::UnixMillis;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// A token bucket that holds one second's worth of requests.
///
/// Kept as one number (the generic cell rate algorithm): the time at which the bucket will be full again. Only calls
/// that carry the token are counted; else a stranger could use up what the app may ask for.
pub(crate) struct RateLimit {
    /// Nanoseconds between requests at the allowed rate.
    interval: u64,
    /// When the bucket is full again, in nanoseconds.
    full_at: AtomicU64,
}

impl RateLimit {
    /// Allows `per_second` requests in a second, at most that many at once.
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        Self { interval: NANOS_PER_SECOND / u64::from(per_second.get()), full_at: AtomicU64::new(0) }
    }

    /// Takes one request out of the bucket, or says after how many seconds to ask again.
    pub(crate) fn take(&self, now: UnixMillis) -> Result<(), u64> {
        let now = now.0.saturating_mul(NANOS_PER_MILLI);
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let fullest = now.saturating_add(NANOS_PER_SECOND);
            if full_at > fullest {
                // It takes a second to fill a bucket: the clock was set back since. Count anew from an empty one.
                match self.full_at.compare_exchange(full_at, fullest, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => full_at = fullest,
                    Err(current) => full_at = current,
                }
                continue;
            }
            let next = full_at.max(now).saturating_add(self.interval);
            if next > fullest {
                return Err((next - fullest).div_ceil(NANOS_PER_SECOND));
            }
            match self.full_at.compare_exchange_weak(full_at, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(current) => full_at = current,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(per_second: u32) -> RateLimit {
        RateLimit::new(NonZeroU32::new(per_second).unwrap())
    }

    fn admitted(limit: &RateLimit, now: u64, asked: usize) -> usize {
        (0..asked).filter(|_| limit.take(UnixMillis(now)).is_ok()).count()
    }

    #[test]
    fn a_second_holds_that_many_and_no_more() {
        let limit = limit(10);
        assert_eq!(admitted(&limit, 1_000_000, 50), 10);
        assert_eq!(limit.take(UnixMillis(1_000_000)), Err(1));
        assert_eq!(admitted(&limit, 1_000_099, 50), 0);
        assert_eq!(admitted(&limit, 1_000_100, 50), 1);
        assert_eq!(admitted(&limit, 1_005_000, 50), 10, "what was not used does not pile up");
    }

    #[test]
    fn one_per_second() {
        let limit = limit(1);
        assert_eq!(admitted(&limit, 5_000, 3), 1);
        assert_eq!(admitted(&limit, 5_999, 3), 0);
        assert_eq!(admitted(&limit, 6_000, 3), 1);
    }

    #[test]
    fn a_clock_set_back_does_not_shut_everybody_out() {
        let limit = limit(10);
        assert_eq!(admitted(&limit, 3_600_000, 10), 10);
        assert_eq!(admitted(&limit, 0, 10), 0);
        assert_eq!(admitted(&limit, 1_000, 10), 10);
    }
}
