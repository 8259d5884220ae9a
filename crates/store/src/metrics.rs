//! The writer's metrics: how long transactions take and how many commits share one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of [`StoreMetrics::commit_seconds`]: an `fsync` takes a tenth of a millisecond on a good server disk, a few
/// on a cheap one, and seconds on one that is about to fail.
const SECONDS: [f64; 12] = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// Upper bounds of [`StoreMetrics::batch_size`], up to the default `max_batch`.
const BATCH: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The metrics of a store since it was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreMetrics {
    /// How long transactions took, from BEGIN to the end of COMMIT, in seconds.
    pub commit_seconds: HistogramValues,
    /// How many jobs shared a transaction.
    pub batch_size: HistogramValues,
    /// Transactions that failed and were rolled back; their jobs are retried or fail.
    pub failed: u64,
}

/// A histogram at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramValues {
    /// Inclusive upper bounds in ascending order, with cumulative counts.
    pub buckets: Vec<(f64, u64)>,
    /// The number of values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    commit_seconds: Histogram<{ SECONDS.len() }>,
    batch_size: Histogram<{ BATCH.len() }>,
    failed: AtomicU64,
}

impl Metrics {
    /// Records a committed transaction with `jobs` jobs.
    pub(crate) fn committed(&self, jobs: usize, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.commit_seconds.observe(&SECONDS, took.as_secs_f64(), nanos);
        // A batch is at most 65,536.
        let jobs = u32::try_from(jobs).unwrap_or(u32::MAX);
        self.batch_size.observe(&BATCH, f64::from(jobs), u64::from(jobs));
    }

    pub(crate) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn values(&self) -> StoreMetrics {
        StoreMetrics {
            commit_seconds: self.commit_seconds.values(&SECONDS, 1e-9),
            batch_size: self.batch_size.values(&BATCH, 1.0),
            failed: self.failures(),
        }
    }
}

/// Counts by bound, the last for values above all bounds; the sum is in integers of a unit chosen by the caller.
#[derive(Debug)]
struct Histogram<const N: usize> {
    counts: [AtomicU64; N],
    above: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; N], above: AtomicU64::new(0), sum: AtomicU64::new(0) }
    }
}

impl<const N: usize> Histogram<N> {
    fn observe(&self, bounds: &[f64; N], value: f64, units: u64) {
        let place = bounds.iter().zip(&self.counts).find_map(|(bound, count)| (value <= *bound).then_some(count));
        place.unwrap_or(&self.above).fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(units, Ordering::Relaxed);
    }

    #[expect(clippy::cast_precision_loss, reason = "exact for 104 days of nanoseconds, and close enough after that")]
    fn values(&self, bounds: &[f64; N], unit: f64) -> HistogramValues {
        let mut count = 0;
        let buckets = bounds.iter().zip(&self.counts).map(|(bound, in_bucket)| {
            count += in_bucket.load(Ordering::Relaxed);
            (*bound, count)
        });
        let buckets = buckets.collect();
        count += self.above.load(Ordering::Relaxed);
        HistogramValues { buckets, count, sum: self.sum.load(Ordering::Relaxed) as f64 * unit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_their_bounds_inclusive() {
        let metrics = Metrics::default();
        for (jobs, millis) in [(1, 1), (2, 2), (3, 1_000), (1_000, 60_000)] {
            metrics.committed(jobs, Duration::from_millis(millis));
        }
        metrics.failed();
        let values = metrics.values();
        let at = |histogram: &HistogramValues, bound: f64| {
            histogram.buckets.iter().find_map(|(each, count)| (*each == bound).then_some(*count)).unwrap()
        };
        assert_eq!([0.000_5, 0.001, 0.002_5, 1.0, 5.0].map(|bound| at(&values.commit_seconds, bound)), [0, 1, 2, 3, 3]);
        assert_eq!(values.commit_seconds.count, 4);
        assert!((values.commit_seconds.sum - 61.003).abs() < 1e-6);
        assert_eq!([1.0, 2.0, 4.0, 512.0].map(|bound| at(&values.batch_size, bound)), [1, 2, 3, 3]);
        assert_eq!((values.batch_size.count, values.batch_size.sum), (4, 1_006.0));
        assert_eq!(values.failed, 1);
        assert!(SECONDS.is_sorted() && BATCH.is_sorted());
    }
}
