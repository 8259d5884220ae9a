//! Compares the machine's clock with those of the relays' servers; no other server is queried.

use std::time::{Duration, UNIX_EPOCH};

use usher_engine::UnixMillis;

use super::finding::Finding;

const CHECK: &str = "clock";

/// A harmless difference: the header has whole seconds, and the response takes time.
const FINE: Duration = Duration::from_secs(10);

/// The difference at which requests start to fail: a payment request to a wallet is valid for 60 s.
const WRONG: Duration = Duration::from_secs(60);

const ADVICE: &str = "synchronise the clock (timedatectl set-ntp true, chrony or systemd-timesyncd)";

/// Compares `now` with the `Date` headers just received.
pub(super) fn check<'a>(dates: impl Iterator<Item = &'a str>, now: UnixMillis) -> Finding {
    let mut differences: Vec<i64> = dates.filter_map(|date| difference(date, now)).collect();
    differences.sort_unstable();
    // The median: a server's own clock may be wrong.
    let Some(difference) = differences.get(differences.len() / 2).copied() else {
        return Finding::warn(
            CHECK,
            "not checked: no relay has reported the time",
            "compare it with another one (`date -u`)",
        );
    };
    let seconds = difference.unsigned_abs();
    let direction = if difference < 0 { "behind" } else { "ahead of" };
    let message = format!("{seconds} s {direction} the clocks of {} relays", differences.len());
    match Duration::from_secs(seconds) {
        small if small <= FINE => Finding::ok(CHECK, message),
        middle if middle <= WRONG => Finding::warn(CHECK, message, ADVICE),
        _ => Finding::fail(CHECK, format!("{message}: wallets reject what this machine signs"), ADVICE),
    }
}

/// How many seconds `now` is ahead of this date.
fn difference(date: &str, now: UnixMillis) -> Option<i64> {
    let there = httpdate::parse_http_date(date).ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs();
    i64::try_from(now.secs()).ok()?.checked_sub_unsigned(there)
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    /// Friday, 2027-01-15 08:00:00 UTC.
    const NOON: u64 = 1_800_000_000;

    fn at(seconds: u64) -> String {
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    fn found(dates: &[String]) -> Finding {
        check(dates.iter().map(String::as_str), UnixMillis::from_secs(NOON))
    }

    #[test]
    fn the_middle_one_decides() {
        for (dates, state, words) in [
            (vec![], State::Warn, "not checked"),
            (vec!["yesterday".to_owned()], State::Warn, "not checked"),
            (vec![at(NOON)], State::Ok, "0 s"),
            (vec![at(NOON - 30)], State::Warn, "30 s ahead of"),
            (vec![at(NOON + 900)], State::Fail, "900 s behind"),
            // One of three is wrong.
            (vec![at(NOON + 1), at(NOON + 86_400), at(NOON)], State::Ok, "1 s behind the clocks of 3 relays"),
        ] {
            let finding = found(&dates);
            assert!(finding.state == state && finding.message.contains(words), "{finding}");
        }
    }
}
