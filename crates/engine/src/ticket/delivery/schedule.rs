//! The schedule for sending a token, and for querying the mint whether it is spent.

use std::time::Duration;

use crate::UnixMillis;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The checks of the first round, relative to its start, while the user looks at the screen.
const FIRST_ROUND: [Duration; 4] = [secs(5), secs(15), secs(35), secs(65)];

const SOON_ROUND: [Duration; 2] = [secs(10), secs(30)];

const LATER_ROUND: [Duration; 1] = [secs(25)];

/// How long the user is likely to wait for the token.
const SOON: Duration = secs(10 * MINUTE);

/// Up to which age of a delivery rounds have which interval.
const ROUNDS: [(Duration, Duration); 3] =
    [(SOON, secs(2 * MINUTE)), (secs(2 * HOUR), secs(5 * MINUTE)), (secs(DAY), secs(10 * MINUTE))];

/// The interval for older ones. A wallet that is open for half an hour gets the token.
const LATE_ROUND: Duration = secs(30 * MINUTE);

/// How long a round's event is repeated: three times in the first round, twice in others; a wallet handles it once.
const RESEND: [Duration; 2] = [secs(60), secs(30)];

pub(super) fn checks_of_round(started_at: UnixMillis, round_at: UnixMillis) -> &'static [Duration] {
    match round_at.since(started_at) {
        age if age < secs(MINUTE) => &FIRST_ROUND,
        age if age < SOON => &SOON_ROUND,
        _ => &LATER_ROUND,
    }
}

pub(super) fn next_round(started_at: UnixMillis, round_at: UnixMillis) -> Duration {
    let age = round_at.since(started_at);
    ROUNDS.into_iter().find(|(up_to, _)| age < *up_to).map_or(LATE_ROUND, |(_, pause)| pause)
}

pub(super) fn resend_for(started_at: UnixMillis, now: UnixMillis) -> Duration {
    let [first, later] = RESEND;
    if now.since(started_at) < secs(MINUTE) { first } else { later }
}

/// The pause before the next check of an expired delivery, by the number of checks: the user may still redeem it.
pub(super) const fn late_check(checks: u32) -> Duration {
    match checks {
        0 => secs(HOUR),
        1 => secs(6 * HOUR),
        2..30 => secs(DAY),
        _ => secs(7 * DAY),
    }
}
