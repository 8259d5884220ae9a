use std::time::Duration;

use crate::UnixMillis;
use crate::ports::Randomness;

/// How long a message is sent as the same Nostr event.
const SAME_EVENT: Duration = Duration::from_secs(90);

/// An event dated later than this from now was made by a clock that was ahead; relays would refuse it.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Seconds between two sendings; the last value repeats. A request is sent after 0, 20, 56, 140, 320 and 680 s, and
/// then every ten minutes: a subscription may be asked for during a year.
///
/// Deployed wallets take 10 s per message on relays without `OK`, and reply to every copy: faster copies only lengthen
/// their queue. A login of 300 s is repeated three times, for any random value in [`interval`].
///
/// Relays may refuse an ephemeral event older than 60 s (strfry's default), so the first event is last sent before
/// that. Later intervals exceed [`SAME_EVENT`]: each sending is a fresh event.
const INTERVALS: [u64; 6] = [20, 36, 84, 180, 360, 600];

/// After this many sendings the interval is the last of [`INTERVALS`].
pub(super) const LATE: u8 = 6;

/// Most repetitions of automatic charges per second: relays disconnect clients that flood them.
const CHARGES_PER_SECOND: usize = 20;

/// More charges than this take longer than the first interval at that rate.
pub(super) const MANY_CHARGES: usize = 20 * CHARGES_PER_SECOND;

/// Most repetitions per second right after a restart: relays disconnect clients that flood them.
const AFTER_RESTART_PER_SECOND: u64 = 200;

/// The time until a message sent `attempts` times is sent again: the interval ± 5 %, to spread messages. `charges` is
/// the number of charges sent in the same way, 0 for a message for which a user waits.
pub(super) fn interval(attempts: u8, charges: usize, randomness: &dyn Randomness) -> Duration {
    let step = usize::from(attempts.max(1)) - 1;
    let secs = INTERVALS.get(step).or(INTERVALS.last()).copied().unwrap_or_default();
    let all = (charges / CHARGES_PER_SECOND) as u64;
    let secs = if charges > MANY_CHARGES { secs.max(all) } else { secs };
    let mut random = [0; 1];
    randomness.fill(&mut random);
    let permille = 950 + u64::from(random[0]) * 100 / 255;
    Duration::from_millis(secs * permille)
}

pub(super) const fn after_restart(nth: u64) -> Duration {
    Duration::from_millis(nth * 1000 / AFTER_RESTART_PER_SECOND)
}

/// Whether an event made at `made_at` is still repeated unchanged.
pub(super) fn is_current(made_at: UnixMillis, now: UnixMillis) -> bool {
    made_at <= now.plus(CLOCK_TOLERANCE) && now < made_at.plus(SAME_EVENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Always;

    #[test]
    fn intervals_double_up_to_ten_minutes() {
        for (attempts, secs) in [(0, 20), (1, 20), (2, 36), (3, 84), (5, 360), (6, 600), (7, 600), (u8::MAX, 600)] {
            assert_eq!(interval(attempts, 0, &Always(0)), Duration::from_millis(secs * 950), "{attempts}");
            assert_eq!(
                interval(attempts, MANY_CHARGES, &Always(255)),
                Duration::from_millis(secs * 1050),
                "{attempts}"
            );
        }
        for (attempts, secs) in [(1, 500), (5, 500), (6, 600)] {
            assert_eq!(interval(attempts, 10_000, &Always(0)), Duration::from_millis(secs * 950), "twenty a second");
        }
    }

    /// For any random value, a login is sent four times, as two events, none of which a relay refuses as too old.
    #[test]
    fn login_is_sent_as_one_event_within_a_minute_and_as_another_once() {
        for random in [0, 127, 255] {
            let mut sent_at = vec![Duration::ZERO];
            for attempts in 1..=4 {
                let last = sent_at[sent_at.len() - 1];
                sent_at.push(last + interval(attempts, 0, &Always(random)));
            }
            let within = |from: u64, to: u64| {
                let range = Duration::from_secs(from)..Duration::from_secs(to);
                sent_at.iter().filter(|at| range.contains(at)).count()
            };
            assert_eq!((within(0, 59), within(0, 90), within(0, 300)), (3, 3, 4), "{sent_at:?}");
        }
        assert!(INTERVALS[3..].iter().all(|secs| Duration::from_secs(*secs) > SAME_EVENT));
        assert_eq!(usize::from(LATE), INTERVALS.len());
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
