//! Adjusts the times in the states of operations after the machine's clock was set back.
//!
//! Only operations whose last step was made while the clock was ahead get this input. Times that come from elsewhere
//! stay unchanged: a subscription's due dates, an invoice's expiry.

use std::time::Duration;

use crate::UnixMillis;

/// The machine's clock was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetBack {
    /// By how much.
    pub by: Duration,
    /// The operation was created while the clock was ahead, so its expiry is by that clock as well.
    pub created: bool,
}

impl SetBack {
    /// Adjusts the end of a pause or of a lease: it stays as far away as it was.
    pub(crate) fn pause(self, at: &mut UnixMillis, now: UnixMillis) {
        *at = (*at).min(at.minus(self.by).max(now));
    }

    /// Adjusts the operation's expiry.
    pub(crate) fn expiry(self, at: &mut UnixMillis) {
        if self.created {
            *at = at.minus(self.by);
        }
    }

    /// Adjusts the time of a past event.
    pub(crate) fn moment(self, at: &mut UnixMillis, now: UnixMillis) {
        if *at > now {
            *at = at.minus(self.by).min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    fn moved(at: u64, created: bool, change: impl Fn(SetBack, &mut UnixMillis)) -> u64 {
        let mut at = UnixMillis(at);
        change(SetBack { by: Duration::from_millis(10_000), created }, &mut at);
        at.0
    }

    #[test]
    fn pauses_keep_their_remaining_time() {
        let pause = |at| moved(at, false, |set_back, at| set_back.pause(at, NOW));
        assert_eq!(
            [1_012_000, 1_010_000, 1_005_000, 1_000_000, 999_000].map(pause),
            [1_002_000, 1_000_000, 1_000_000, 1_000_000, 999_000]
        );
    }

    #[test]
    fn expiry_moves_only_if_set_by_the_fast_clock() {
        let expiry = |created| moved(1_012_000, created, |set_back, at| set_back.expiry(at));
        assert_eq!([true, false].map(expiry), [1_002_000, 1_012_000]);
    }

    #[test]
    fn past_moments_never_lie_in_the_future() {
        let moment = |at| moved(at, false, |set_back, at| set_back.moment(at, NOW));
        assert_eq!([1_008_000, 1_012_000, 999_000].map(moment), [998_000, 1_000_000, 999_000]);
    }
}
