//! Expiry on both clocks.

use std::time::Duration;

use crate::UnixMillis;
use crate::ports::Clock;

/// An expiry on both clocks, reached when either clock reaches it. Setting the wall clock back does not make something
/// expired valid again.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) wall: UnixMillis,
    monotonic: Duration,
}

impl End {
    pub(super) fn at(wall: UnixMillis, clock: &dyn Clock) -> Self {
        Self { wall, monotonic: clock.monotonic().saturating_add(wall.since(clock.now())) }
    }

    pub(super) fn has_come(&self, clock: &dyn Clock) -> bool {
        clock.now() >= self.wall || clock.monotonic() >= self.monotonic
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ManualClock;

    #[test]
    fn setting_the_clock_back_prolongs_nothing() {
        const HOUR: Duration = Duration::from_secs(3600);
        let start = UnixMillis(1_800_000_000_000);
        let clock = ManualClock::at(start);
        let end = End::at(start.plus(HOUR), &clock);
        assert!(!end.has_come(&clock));
        clock.turn_back(HOUR);
        assert!(!end.has_come(&clock));
        clock.turn(HOUR);
        assert!(end.has_come(&clock), "an hour has passed");
        assert!(End::at(start.minus(HOUR), &ManualClock::at(start)).has_come(&clock));
    }
}
