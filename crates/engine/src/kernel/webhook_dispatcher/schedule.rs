//! When a delivery is retried, and when it is given up.

use std::time::Duration;

use crate::ports::Randomness;

/// Seconds between two attempts; the last value repeats until [`GIVE_UP_AFTER`].
const INTERVALS: [u64; 9] = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800];

/// A delivery is given up when its pauses add up to this, a long weekend; downtime of the service does not count.
pub(super) const GIVE_UP_AFTER: Duration = Duration::from_secs(72 * 3600);

/// The longest `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// The time until the next attempt: the interval plus up to 20 % (spreads load), at least the receiver's `Retry-After`.
pub(super) fn interval(attempts: u32, wanted: Option<Duration>, randomness: &dyn Randomness) -> Duration {
    let step = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let secs = INTERVALS.get(step).or(INTERVALS.last()).copied().unwrap_or(3600);
    let mut random = [0; 1];
    randomness.fill(&mut random);
    let scheduled = Duration::from_millis(secs * 1000 + secs * 200 * u64::from(random[0]) / 255);
    scheduled.max(wanted.unwrap_or_default().min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Always, SeededRandomness};

    #[test]
    fn retry_intervals_grow_with_up_to_20_percent_jitter() {
        let secs = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 28_800];
        for (attempts, secs) in (1..).zip(secs) {
            assert_eq!(interval(attempts, None, &Always(0)), Duration::from_secs(secs));
            assert_eq!(interval(attempts, None, &Always(255)), Duration::from_millis(secs * 1200));
        }
        assert_eq!(interval(u32::MAX, None, &Always(0)), Duration::from_secs(28_800));
        let randomness = SeededRandomness::new(7);
        let many: std::collections::HashSet<_> = (0..100).map(|_| interval(1, None, &randomness)).collect();
        assert!(many.len() > 30, "many attempts spread: {}", many.len());
    }

    #[test]
    fn retry_after_can_only_extend_the_interval_up_to_a_day() {
        let after = |wanted| interval(3, Some(Duration::from_secs(wanted)), &Always(0)).as_secs();
        assert_eq!([after(0), after(119), after(121), after(86_400), after(u64::MAX)], [120, 120, 121, 86_400, 86_400]);
    }
}
