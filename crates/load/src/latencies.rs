//! Measured times, and their percentiles.

use std::time::Duration;

/// Measured durations, in microseconds (up to 71 minutes each).
#[derive(Debug, Default)]
pub(crate) struct Latencies(Vec<u32>);

impl Latencies {
    pub(crate) fn add(&mut self, duration: Duration) {
        self.0.push(u32::try_from(duration.as_micros()).unwrap_or(u32::MAX));
    }

    pub(crate) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest duration that `percent` of all do not exceed, in milliseconds; `None` without any.
    pub(crate) fn percentile_ms(&mut self, percent: usize) -> Option<f64> {
        let rank = (self.0.len() * percent).div_ceil(100).saturating_sub(1);
        if rank >= self.0.len() {
            return None;
        }
        let (_, nth, _) = self.0.select_nth_unstable(rank);
        Some(f64::from(*nth) / 1000.0)
    }
}
