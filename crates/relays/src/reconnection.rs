//! When to connect to a relay again.

use std::time::Duration;

use rand::Rng as _;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::bucket::Bucket;
use crate::options::Timing;
use crate::session::Quality;

/// Attempts at once in a minute: a relay that is cut every three seconds needs 20.
const AT_ONCE_PER_MINUTE: u32 = 30;

/// Decides on the pause before each attempt.
///
/// Wallets send once, and many relays keep no ephemeral events: what is sent while we are away is lost. So the first
/// attempt after a connection that worked is made at once, and only when it fails do pauses begin. A relay that accepts
/// connections and cuts them right away gets pauses from the beginning.
#[derive(Debug)]
pub(crate) struct Reconnection {
    backoff: Backoff,
    at_once_within: Duration,
    at_once: Bucket,
}

/// What comes before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Hardly anything: the connection worked until now.
    AtOnce(Duration),
    /// The relay is down, or no good.
    BackOff(Duration),
}

impl Reconnection {
    pub(crate) fn new(timing: &Timing, now: Instant) -> Self {
        Self {
            backoff: Backoff::new(timing.reconnect_first, timing.reconnect_longest),
            at_once_within: timing.reconnect_at_once,
            at_once: Bucket::refilling_in(AT_ONCE_PER_MINUTE, Duration::from_secs(60), now),
        }
    }

    /// The pause after a connection of this quality; `None` when there was none.
    pub(crate) fn after(&mut self, connection: Option<Quality>, now: Instant) -> Pause {
        let worked = match connection {
            Some(Quality::Good) => {
                self.backoff.reset();
                true
            }
            Some(Quality::Fair) => {
                self.backoff.forgive();
                true
            }
            Some(Quality::Short) => {
                self.backoff.ease();
                false
            }
            Some(Quality::Abusive) => {
                self.backoff.worst();
                false
            }
            Some(Quality::Useless) | None => false,
        };
        if worked && self.at_once.take(now) {
            Pause::AtOnce(self.at_once_within.mul_f64(rand::rng().random_range(0.0..=1.0)))
        } else {
            Pause::BackOff(self.backoff.next())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at_once(pause: Pause) -> bool {
        matches!(pause, Pause::AtOnce(pause) if pause <= Duration::from_millis(100))
    }

    fn backoff(pause: Pause) -> Duration {
        match pause {
            Pause::BackOff(pause) => pause,
            Pause::AtOnce(_) => panic!("at once"),
        }
    }

    #[test]
    fn at_once_after_what_worked_and_with_pauses_after_what_did_not() {
        let (timing, now) = (Timing::default(), Instant::now());
        let mut reconnection = Reconnection::new(&timing, now);
        for quality in [Quality::Good, Quality::Fair] {
            assert!(at_once(reconnection.after(Some(quality), now)));
            assert!(backoff(reconnection.after(None, now)) >= timing.reconnect_first / 2, "then it failed");
        }
        for _ in 0..20 {
            backoff(reconnection.after(Some(Quality::Useless), now));
        }
        assert!(backoff(reconnection.after(Some(Quality::Short), now)) <= timing.reconnect_first * 8);
        assert!(backoff(reconnection.after(Some(Quality::Abusive), now)) >= timing.reconnect_longest / 2);
        assert!(at_once(reconnection.after(Some(Quality::Good), now)));
        assert!(backoff(reconnection.after(None, now)) <= timing.reconnect_first, "pauses start anew");
    }

    #[test]
    fn a_relay_that_cuts_every_few_seconds_is_always_connected_to_at_once_and_one_every_second_is_not() {
        let (timing, start) = (Timing::default(), Instant::now());
        let count = |every: Duration| {
            let mut reconnection = Reconnection::new(&timing, start);
            let times = (MINUTE * 10).div_duration_f64(every) as u32;
            (0..times).filter(|n| at_once(reconnection.after(Some(Quality::Fair), start + every * *n))).count()
        };
        assert_eq!(count(Duration::from_secs(3)), 200);
        assert!((300..=330).contains(&count(Duration::from_secs(1))));
    }
}
