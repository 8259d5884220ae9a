use std::time::Duration;

use rand::Rng as _;
use tokio::time::Instant;
use usher_token_bucket::{Rate, TokenBucket};

use crate::backoff::Backoff;
use crate::time_limits::Timing;

/// Immediate attempts per minute: a relay whose connection breaks every three seconds needs 20.
const AT_ONCE_PER_MINUTE: u32 = 30;

/// The quality of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// It received something useful and lasted for [`Timing::worked_after`].
    Worked,
    /// It ended soon, or received nothing useful.
    Failed,
    /// The relay exceeded a limit.
    Abusive,
}

/// Decides on the pause before each attempt. Messages sent while we are disconnected may be lost, so the first attempt
/// after a working connection is immediate, and pauses begin when it fails. A relay that closes connections right away
/// gets pauses from the start.
#[derive(Debug)]
pub struct Reconnection {
    backoff: Backoff,
    at_once_within: Duration,
    at_once: TokenBucket<Instant>,
}

/// The pause before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Minimal: the connection worked until now.
    AtOnce(Duration),
    /// The relay is down or useless.
    BackOff(Duration),
}

impl Pause {
    /// How long it is.
    pub const fn duration(self) -> Duration {
        match self {
            Self::AtOnce(pause) | Self::BackOff(pause) => pause,
        }
    }
}

impl Reconnection {
    /// The state before the first connection.
    pub fn new(timing: &Timing, now: Instant) -> Self {
        Self {
            backoff: Backoff::new(timing.reconnect_first, timing.reconnect_longest),
            at_once_within: timing.reconnect_at_once,
            at_once: TokenBucket::new(Rate::full_after(AT_ONCE_PER_MINUTE, Duration::from_secs(60)), now),
        }
    }

    /// The pause after a connection of this quality; `None` if none was established.
    pub fn after(&mut self, connection: Option<Quality>, now: Instant) -> Pause {
        match connection {
            Some(Quality::Worked) => {
                self.backoff.reset();
                if self.at_once.take(now) {
                    return Pause::AtOnce(self.at_once_within.mul_f64(rand::rng().random_range(0.0..=1.0)));
                }
            }
            Some(Quality::Abusive) => self.backoff.maximize(),
            Some(Quality::Failed) | None => {}
        }
        Pause::BackOff(self.backoff.next_pause())
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
    fn reconnects_at_once_after_a_working_connection_and_backs_off_otherwise() {
        let (timing, now) = (Timing::default(), Instant::now());
        let mut reconnection = Reconnection::new(&timing, now);
        assert!(at_once(reconnection.after(Some(Quality::Worked), now)));
        for failure in [None, Some(Quality::Failed)] {
            assert!(backoff(reconnection.after(failure, now)) >= timing.reconnect_first / 2, "then it failed");
        }
        assert!(backoff(reconnection.after(Some(Quality::Abusive), now)) >= timing.reconnect_longest / 2);
        assert!(at_once(reconnection.after(Some(Quality::Worked), now)));
        assert!(backoff(reconnection.after(None, now)) <= timing.reconnect_first, "pauses start again");
    }

    #[test]
    fn immediate_reconnections_are_rate_limited() {
        let (timing, start) = (Timing::default(), Instant::now());
        let count = |every: Duration| {
            let mut reconnection = Reconnection::new(&timing, start);
            let times = (MINUTE * 10).div_duration_f64(every) as u32;
            (0..times).filter(|n| at_once(reconnection.after(Some(Quality::Worked), start + every * *n))).count()
        };
        assert_eq!(count(Duration::from_secs(3)), 200);
        assert!((300..=330).contains(&count(Duration::from_secs(1))));
    }
}
