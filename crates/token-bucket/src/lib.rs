//! A token bucket: allows a burst, and after it a steady rate. The fill level is kept in whole nanoseconds (the generic cell rate
//! algorithm), so rounding errors do not add up.

use std::time::Duration;

/// A point in time, on any clock.
pub trait Timestamp: Copy {
    /// The time from `earlier` to `self`; zero when `earlier` is later (the clock was set back).
    fn saturating_since(self, earlier: Self) -> Duration;
}

impl Timestamp for tokio::time::Instant {
    fn saturating_since(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// Time since an arbitrary start, on a monotonic clock.
impl Timestamp for Duration {
    fn saturating_since(self, earlier: Self) -> Duration {
        self.saturating_sub(earlier)
    }
}

/// How many tokens a bucket holds and how fast it refills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    burst: u32,
    /// Nanoseconds per token; never zero.
    interval: u64,
}

impl Rate {
    /// `burst` tokens at once, then one more after each `interval`.
    pub const fn every(burst: u32, interval: Duration) -> Self {
        // Bounded so that the capacity fits into 64 bits; for a thousand tokens the bound is half a year each.
        let longest = u64::MAX / if burst == 0 { 1 } else { burst as u64 };
        let nanos = interval.as_nanos();
        let interval = if nanos > longest as u128 { longest } else { nanos as u64 };
        Self { burst, interval: if interval == 0 { 1 } else { interval } }
    }

    /// `burst` tokens at once, then `per_second` more each second. With 0 it practically never refills.
    pub fn per_second(burst: u32, per_second: f64) -> Self {
        Self::every(burst, Duration::try_from_secs_f64(1.0 / per_second).unwrap_or(Duration::MAX))
    }

    /// `burst` tokens at once; an empty bucket is full again after `period`.
    pub fn full_after(burst: u32, period: Duration) -> Self {
        Self::every(burst, period / burst.max(1))
    }

    /// The time in which an empty bucket refills, in nanoseconds.
    const fn capacity(self) -> u64 {
        self.interval.saturating_mul(self.burst as u64)
    }

    /// The cost of `tokens`, in nanoseconds.
    fn cost(self, tokens: f64) -> u64 {
        // The cast saturates; NaN costs nothing.
        (self.interval as f64 * tokens) as u64
    }
}

/// A token bucket on the clock `T`.
#[derive(Clone, Debug)]
pub struct TokenBucket<T> {
    rate: Rate,
    /// Nanoseconds until the bucket is full.
    used: u64,
    at: T,
}

impl<T: Timestamp> TokenBucket<T> {
    /// A full bucket.
    pub const fn new(rate: Rate, now: T) -> Self {
        Self { rate, used: 0, at: now }
    }

    /// Takes a token if there is one.
    pub fn take(&mut self, now: T) -> bool {
        self.try_take(now).is_ok()
    }

    /// Takes a token.
    ///
    /// # Errors
    /// The time until the next token, when there is none now.
    pub fn try_take(&mut self, now: T) -> Result<(), Duration> {
        self.take_cost(self.rate.interval, now)
    }

    /// Takes this many tokens, a fraction or several, if the bucket has them.
    pub fn take_part(&mut self, tokens: f64, now: T) -> bool {
        self.take_cost(self.rate.cost(tokens), now).is_ok()
    }

    /// Whether a token is available.
    pub fn has_one(&mut self, now: T) -> bool {
        self.refill(now);
        self.rate.interval <= self.available()
    }

    /// The number of whole tokens available.
    pub fn whole_tokens(&mut self, now: T) -> u32 {
        self.refill(now);
        u32::try_from(self.available() / self.rate.interval).unwrap_or(u32::MAX)
    }

    /// Returns this many tokens; a bucket never holds more than its burst.
    pub fn give_back(&mut self, tokens: f64) {
        self.used = self.used.saturating_sub(self.rate.cost(tokens));
    }

    fn take_cost(&mut self, cost: u64, now: T) -> Result<(), Duration> {
        self.refill(now);
        match cost.checked_sub(self.available()) {
            None | Some(0) => {
                self.used = self.used.saturating_add(cost);
                Ok(())
            }
            Some(missing) => Err(Duration::from_nanos(missing)),
        }
    }

    /// What is left, in nanoseconds.
    const fn available(&self) -> u64 {
        self.rate.capacity().saturating_sub(self.used)
    }

    /// A clock that was set back refills nothing; refilling continues from its new time.
    fn refill(&mut self, now: T) {
        let passed = u64::try_from(now.saturating_since(self.at).as_nanos()).unwrap_or(u64::MAX);
        self.used = self.used.saturating_sub(passed);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn allows_a_burst_then_the_steady_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(Rate::per_second(3, 2.0), start);
        assert_eq!((0..10).filter(|_| bucket.take(start)).count(), 3);
        assert_eq!((0..10).filter(|_| bucket.take(start + SECOND)).count(), 2);
        assert_eq!((0..10).filter(|_| bucket.take(start + SECOND * 1000)).count(), 3);
    }

    #[test]
    fn zero_rate_allows_only_the_burst() {
        let start = Instant::now();
        assert!(!TokenBucket::new(Rate::per_second(0, 0.0), start).take(start + SECOND * 1000));
        let mut bucket = TokenBucket::new(Rate::per_second(10, 0.0), start);
        assert_eq!((0..100).filter(|_| bucket.take(start)).count(), 10);
        assert!(!bucket.take(start + SECOND * 1000));
    }

    #[test]
    fn refills_within_its_period() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(Rate::full_after(3, SECOND * 60), start);
        assert_eq!((0..10).filter(|_| bucket.take(start)).count(), 3);
        assert_eq!((0..10).filter(|_| bucket.take(start + SECOND * 19)).count(), 0);
        assert_eq!((0..10).filter(|_| bucket.take(start + SECOND * 21)).count(), 1);
    }

    #[test]
    fn reports_the_wait_until_the_next_token() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(Rate::per_second(1, 2.0), start);
        assert_eq!(bucket.try_take(start), Ok(()));
        assert_eq!(bucket.try_take(start), Err(SECOND / 2));
        assert_eq!(bucket.try_take(start + SECOND / 4), Err(SECOND / 4));
        assert!(!bucket.has_one(start + SECOND / 4) && bucket.has_one(start + SECOND / 2));
        assert_eq!(bucket.try_take(start + SECOND / 2), Ok(()));
    }

    #[test]
    fn fractional_takes_add_up_and_can_be_returned() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(Rate::every(1, SECOND), start);
        assert_eq!((0..100).filter(|_| bucket.take_part(0.05, start)).count(), 20);
        bucket.give_back(0.5);
        assert!(bucket.take_part(0.5, start) && !bucket.take_part(0.01, start));
        bucket.give_back(100.0);
        assert!(bucket.take(start) && !bucket.take(start), "never more than the burst");
        // Frequent attempts do not slow the refill.
        for millis in 1..1000 {
            assert!(!bucket.take(start + Duration::from_millis(millis)));
        }
        assert!(bucket.take(start + SECOND));
    }

    #[test]
    fn clock_set_back_does_not_delay_refills() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(Rate::every(1, SECOND), start + SECOND * 3600);
        assert!(bucket.take(start + SECOND * 3600) && !bucket.take(start));
        assert!(bucket.take(start + SECOND));
    }
}
