//! Measured latencies and their percentiles.

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Latencies;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentile_ms(50), None);
        for ms in (1..=200).rev() {
            latencies.add(Duration::from_millis(ms));
        }
        assert_eq!(latencies.percentile_ms(50), Some(100.0));
        assert_eq!(latencies.percentile_ms(99), Some(198.0));
        assert_eq!(latencies.percentile_ms(100), Some(200.0));
    }

    #[test]
    fn one_is_every_percentile() {
        let mut latencies = Latencies::default();
        latencies.add(Duration::from_millis(7));
        assert_eq!((latencies.percentile_ms(1), latencies.percentile_ms(99)), (Some(7.0), Some(7.0)));
    }
}
