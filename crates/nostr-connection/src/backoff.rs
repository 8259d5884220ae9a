use std::time::Duration;

use rand::Rng as _;

/// Pauses that double from `first` to `longest`, each shortened by a random 0 to 50 %.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// Starts with `first`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// The next pause.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.first.saturating_mul(2u32.saturating_pow(self.failures)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        pause.mul_f64(rand::rng().random_range(0.5..=1.0))
    }

    /// Makes the next pause one of the longest.
    pub(crate) fn maximize(&mut self) {
        self.failures = u32::MAX;
    }

    /// After a successful attempt: pauses start again from `first`.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_maximum_and_can_be_reset() {
        let (first, longest) = (Duration::from_millis(800), Duration::from_secs(60));
        let mut backoff = Backoff::new(first, longest);
        for failures in 0..100u32 {
            let full = first.saturating_mul(2u32.saturating_pow(failures)).min(longest);
            let pause = backoff.next_pause();
            assert!(pause >= full / 2 && pause <= full, "{failures}: {pause:?}");
        }
        backoff.reset();
        assert!(backoff.next_pause() <= first);
        backoff.maximize();
        assert!(backoff.next_pause() >= longest / 2);
    }
}
