//! A token bucket.

use std::time::Duration;

use tokio::time::Instant;

/// Allows `capacity` things at once and `per_second` more each second.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    capacity: f64,
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn new(capacity: u32, per_second: f64, now: Instant) -> Self {
        Self { capacity: f64::from(capacity), per_second, tokens: f64::from(capacity), at: now }
    }

    /// A bucket that refills in `period` from empty to full.
    pub(crate) fn refilling_in(capacity: u32, period: Duration, now: Instant) -> Self {
        Self::new(capacity, f64::from(capacity) / period.as_secs_f64().max(f64::EPSILON), now)
    }

    /// Takes one if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.take_part(1.0, now)
    }

    /// Whether there is one to take.
    pub(crate) fn has_one(&mut self, now: Instant) -> bool {
        self.take_part(0.0, now) && self.tokens >= 1.0
    }

    /// Takes so much if there is so much.
    pub(crate) fn take_part(&mut self, part: f64, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.tokens = (self.tokens + passed * self.per_second).min(self.capacity);
        if self.tokens < part {
            return false;
        }
        self.tokens -= part;
        true
    }

    /// Gives so much back.
    pub(crate) fn give(&mut self, part: f64) {
        self.tokens = (self.tokens + part).min(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_its_capacity_and_then_the_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(3, 2.0, start);
        assert_eq!((0..10).filter(|_| bucket.take(start)).count(), 3);
        assert_eq!((0..10).filter(|_| bucket.take(start + Duration::from_secs(1))).count(), 2);
        assert_eq!((0..10).filter(|_| bucket.take(start + Duration::from_secs(1000))).count(), 3);
        assert!(!Bucket::new(0, 0.0, start).take(start + Duration::from_secs(1000)));
    }

    #[test]
    fn refills_in_its_period() {
        let start = Instant::now();
        let mut bucket = Bucket::refilling_in(3, Duration::from_secs(60), start);
        assert_eq!((0..10).filter(|_| bucket.take(start)).count(), 3);
        assert_eq!((0..10).filter(|_| bucket.take(start + Duration::from_secs(19))).count(), 0);
        assert_eq!((0..10).filter(|_| bucket.take(start + Duration::from_secs(21))).count(), 1);
    }
}
