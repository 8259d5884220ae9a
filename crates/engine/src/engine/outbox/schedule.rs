//! When messages are sent again.

use std::time::Duration;

use crate::UnixMillis;
use crate::ports::Randomness;

/// For how long a message is the same Nostr event, whenever it is sent.
const SAME_EVENT: Duration = Duration::from_secs(90);

/// An event whose `created_at` is later than this from now was made by a clock that was ahead: relays would refuse it.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Seconds between two sendings; the last value repeats. A wallet that comes to the foreground waits a minute at most, and a
/// request that lives five minutes is sent ten times, as three events.
///
/// Relays may refuse an ephemeral event that is older than 60 s (strfry does by default). So the first event is sent up to
/// 54 s after it was made, the next sending, after 108 s, is a fresh event, and each of those is sent twice.
const INTERVALS: [u64; 6] = [2, 4, 8, 15, 25, 54];

/// After this many sendings, which is two hours, the interval is [`LATE_INTERVAL`].
pub(super) const LATE: u8 = 135;

/// Seconds between two late sendings: a subscription may be asked for during a year.
const LATE_INTERVAL: u64 = 600;

/// Most repetitions per second of charges that the service makes by itself, when very many are open at the same time: relays
/// disconnect clients that flood them, and logins use the same relays.
const CHARGES_PER_SECOND: usize = 20;

/// More charges than this take longer than a minute at that rate.
pub(super) const MANY_CHARGES: usize = 60 * CHARGES_PER_SECOND;

/// Repetitions per second right after a restart, when everything unanswered is sent again: relays disconnect clients that
/// flood them.
const AFTER_RESTART_PER_SECOND: u64 = 200;

/// The time until a message that was sent `attempts` times is sent again: the interval ± 10 %, so that many messages
/// spread. `charges` is the number of charges that are sent like it, 0 for a message that a user waits for.
pub(super) fn interval(attempts: u8, charges: usize, randomness: &dyn Randomness) -> Duration {
    let step = usize::from(attempts.max(1)) - 1;
    let secs = match INTERVALS.get(step).or(INTERVALS.last()) {
        Some(secs) if attempts < LATE => *secs,
        _ => LATE_INTERVAL,
    };
    let all = (charges / CHARGES_PER_SECOND) as u64;
    let secs = if charges > MANY_CHARGES { secs.max(all) } else { secs };
    let mut random = [0; 1];
    randomness.fill(&mut random);
    let percent = 90 + u64::from(random[0]) * 20 / 255;
    Duration::from_millis(secs * 10 * percent)
}

/// The time after a restart at which the `nth` operation with messages sends them.
pub(super) const fn after_restart(nth: u64) -> Duration {
    Duration::from_millis(nth * 1000 / AFTER_RESTART_PER_SECOND)
}

/// Whether an event made at `made_at` is still sent again unchanged.
pub(super) fn is_current(made_at: UnixMillis, now: UnixMillis) -> bool {
    made_at <= now.plus(CLOCK_TOLERANCE) && now < made_at.plus(SAME_EVENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Always;

    #[test]
    fn resend_intervals_grow() {
        for (attempts, secs) in [(0, 2), (1, 2), (2, 4), (6, 54), (134, 54), (135, 600), (u8::MAX, 600)] {
            assert_eq!(interval(attempts, 0, &Always(0)), Duration::from_millis(secs * 900), "{attempts}");
            assert_eq!(
                interval(attempts, MANY_CHARGES, &Always(255)),
                Duration::from_millis(secs * 1100),
                "{attempts}"
            );
        }
        let all: u64 = (1..LATE).map(|attempts| interval(attempts, 0, &Always(127)).as_secs()).sum();
        assert!((6_600..7_200).contains(&all), "about two hours: {all}");
        for (attempts, secs) in [(1, 500), (6, 500), (135, 600)] {
            assert_eq!(interval(attempts, 10_000, &Always(0)), Duration::from_millis(secs * 900), "twenty a second");
        }
    }

    #[test]
    fn event_is_current_for_90_seconds_and_never_if_from_the_future() {
        let made_at = UnixMillis(1_800_000_000_000);
        for (offset, current) in [(0, true), (89_999, true), (90_000, false)] {
            assert_eq!(is_current(made_at, made_at.plus(Duration::from_millis(offset))), current, "{offset} ms later");
        }
        for (offset, current) in [(60_000, true), (60_001, false)] {
            let now = made_at.minus(Duration::from_millis(offset));
            assert_eq!(is_current(made_at, now), current, "{offset} ms before");
        }
        assert!(!is_current(UnixMillis(0), made_at));
    }
}
