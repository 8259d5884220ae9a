//! Pauses that grow.

use std::time::Duration;

use rand::Rng as _;

/// Pauses that double from `first` to `longest`, each shortened by 0 to 50 % by chance.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// The next pause.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.first.saturating_mul(2u32.saturating_pow(self.failures)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        pause.mul_f64(rand::rng().random_range(0.5..=1.0))
    }

    /// As after very many failures: the next pause is one of the longest.
    pub(crate) fn worst(&mut self) {
        self.failures = u32::MAX;
    }

    /// It half worked: pauses grow to `first` times 8 at most.
    pub(crate) fn ease(&mut self) {
        self.failures = self.failures.min(3);
    }

    /// It worked for a while: the next pause is half as long as it would have been, and `first` times 8 at most.
    pub(crate) fn forgive(&mut self) {
        self.failures = self.failures.saturating_sub(1).min(3);
    }

    /// It worked: pauses start anew.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_longest_and_starts_anew() {
        let (first, longest) = (Duration::from_millis(800), Duration::from_secs(60));
        let mut backoff = Backoff::new(first, longest);
        for failures in 0..100u32 {
            let full = first.saturating_mul(2u32.saturating_pow(failures)).min(longest);
            let pause = backoff.next();
            assert!(pause >= full / 2 && pause <= full, "{failures}: {pause:?}");
        }
        backoff.ease();
        assert!(backoff.next() <= first * 8);
        for failures in (0..3).rev() {
            backoff.failures += 1;
            backoff.forgive();
            backoff.forgive();
            assert_eq!(backoff.failures, failures);
        }
        backoff.reset();
        backoff.ease();
        backoff.forgive();
        assert!(backoff.next() <= first);
        backoff.worst();
        assert!(backoff.next() >= longest / 2);
    }
}
