//! How long to wait before connecting to a relay again.

use std::time::Duration;

/// The first pause after an attempt that failed; it doubles.
const FIRST: Duration = Duration::from_millis(500);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// A relay that had us subscribed for so long was healthy.
const HEALTHY: Duration = Duration::from_secs(2);

/// The longest pause after a healthy connection: what the wallet sends meanwhile may be lost.
const AT_ONCE: Duration = Duration::from_millis(100);

/// The pauses between connections.
#[derive(Debug)]
pub(super) struct BackOff {
    next: Duration,
}

impl Default for BackOff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl BackOff {
    /// The pause after a connection that ended, or was none; `subscribed` is how long the relay had us subscribed. `random`
    /// spreads those who lost a relay at the same time.
    pub(super) fn after(&mut self, subscribed: Option<Duration>, random: u8) -> Duration {
        let random = f64::from(random) / 255.0;
        if subscribed.is_some_and(|subscribed| subscribed >= HEALTHY) {
            self.next = FIRST;
            return AT_ONCE.mul_f64(random);
        }
        let pause = self.next.mul_f64(0.75 + random / 2.0);
        self.next = (self.next * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_healthy_connection_the_next_is_made_at_once_and_then_there_is_back_off() {
        let mut back_off = BackOff::default();
        for _ in 0..3 {
            for random in [0, 255] {
                assert!(back_off.after(Some(HEALTHY), random) <= AT_ONCE);
            }
            // The attempt at once fails.
            assert!(back_off.after(None, 0) >= FIRST.mul_f64(0.7));
            assert!(back_off.after(None, 0) >= FIRST.mul_f64(1.4));
        }
    }

    #[test]
    fn a_relay_that_ends_connections_soon_is_left_alone_for_longer_each_time() {
        let mut back_off = BackOff::default();
        let short = HEALTHY.checked_sub(Duration::from_millis(1));
        let pauses: Vec<_> = (0..9).map(|_| back_off.after(short, 127)).collect();
        assert!(pauses.is_sorted() && pauses[0] >= FIRST.mul_f64(0.9) && pauses[8] <= LONGEST, "{pauses:?}");
        assert!(pauses[8] >= LONGEST.mul_f64(0.9));
    }
}
