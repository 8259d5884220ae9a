//! The next occurrence of a calendar: fixed cases, and those that another program has calculated.

use std::time::{Duration, Instant};

use chrono::{DateTime, NaiveDateTime};
use usher_protocol::calendar::Calendar;
use usher_protocol::message::Recurrence;

fn unix(text: &str) -> u64 {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap().and_utc().timestamp().try_into().unwrap()
}

fn spelled(unix: u64) -> String {
    DateTime::from_timestamp(unix.try_into().unwrap(), 0).unwrap().format("%Y-%m-%d %H:%M:%S").to_string()
}

/// The occurrences after `from`, in UTC.
fn after(calendar: &str, from: &str, count: usize) -> Vec<String> {
    let calendar: Calendar = calendar.parse().unwrap();
    std::iter::successors(calendar.next_after(unix(from)), |last| calendar.next_after(*last))
        .take(count)
        .map(spelled)
        .collect()
}

#[test]
fn next_occurrence_of_each_keyword() {
    for (word, from, expected) in [
        ("minutely", "2026-11-21 04:36:13", ["2026-11-21 04:37:00", "2026-11-21 04:38:00"]),
        ("minutely", "2026-12-31 23:59:00", ["2027-01-01 00:00:00", "2027-01-01 00:01:00"]),
        ("hourly", "2026-11-21 04:00:00", ["2026-11-21 05:00:00", "2026-11-21 06:00:00"]),
        ("daily", "2028-02-28 00:00:01", ["2028-02-29 00:00:00", "2028-03-01 00:00:00"]),
        ("daily", "2027-02-27 23:59:59", ["2027-02-28 00:00:00", "2027-03-01 00:00:00"]),
        ("weekly", "2026-11-21 04:36:13", ["2026-11-23 00:00:00", "2026-11-30 00:00:00"]),
        ("weekly", "2026-11-23 00:00:00", ["2026-11-30 00:00:00", "2026-12-07 00:00:00"]),
        ("monthly", "2026-11-21 04:36:13", ["2026-12-01 00:00:00", "2027-01-01 00:00:00"]),
        ("quarterly", "2026-11-21 04:36:13", ["2027-01-01 00:00:00", "2027-04-01 00:00:00"]),
        ("semiannually", "2026-01-01 00:00:00", ["2026-07-01 00:00:00", "2027-01-01 00:00:00"]),
        ("yearly", "2026-11-21 04:36:13", ["2027-01-01 00:00:00", "2028-01-01 00:00:00"]),
    ] {
        assert_eq!(after(word, from, 2), expected, "{word}");
        assert_eq!(after(Calendar::from_word(word).unwrap().expanded(), from, 2), expected, "{word}");
    }
    // Strictly later.
    let midnight = unix("2026-11-21 00:00:00");
    assert_eq!(Calendar::Daily.next_after(midnight - 1), Some(midnight));
    assert_eq!(Calendar::Daily.next_after(midnight), Some(midnight + 86_400));
    assert_eq!("*-*-* *:*:*".parse::<Calendar>().unwrap().next_after(midnight), Some(midnight + 1));
}

#[test]
fn months_without_the_day_are_skipped() {
    let months = ["03", "05", "07", "08", "10", "12"].map(|month| format!("2027-{month}-31 12:00:00"));
    assert_eq!(after("*-*-31 12:00:00", "2027-01-31 12:00:00", 6), months);
    assert_eq!(after("*-*-29..31 00:00:00", "2027-01-31 00:00:00", 2), ["2027-03-29 00:00:00", "2027-03-30 00:00:00"]);
    assert_eq!(after("*-02-29 00:00:00", "2026-11-21 00:00:00", 2), ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]);
    // 2100 is no leap year.
    assert_eq!(after("*-02-29 00:00:00", "2096-02-29 00:00:00", 1), ["2104-02-29 00:00:00"]);
    assert_eq!(after("Mon *-02-29 00:00:00", "2026-11-21 00:00:00", 2), ["2044-02-29 00:00:00", "2072-02-29 00:00:00"]);
    assert_eq!(after("Fri *-*-13 00:00:00", "2026-11-21 00:00:00", 2), ["2027-08-13 00:00:00", "2028-10-13 00:00:00"]);
}

#[test]
fn next_occurrence_with_lists_ranges_and_steps() {
    for (calendar, from, expected) in [
        ("Mon..Fri *-*-* 09:30:00", "2026-11-20 09:30:00", ["2026-11-23 09:30:00", "2026-11-24 09:30:00"]),
        ("*-*-* 9..17/4:0..59/20:30", "2026-11-21 09:41:00", ["2026-11-21 13:00:30", "2026-11-21 13:20:30"]),
        ("2026,2030-06..08-15 00:00:00", "2026-07-15 00:00:00", ["2026-08-15 00:00:00", "2030-06-15 00:00:00"]),
    ] {
        assert_eq!(after(calendar, from, 2), expected, "{calendar}");
    }
}

#[test]
fn calendars_without_a_next_occurrence() {
    for (calendar, from) in [
        ("*-02-30 00:00:00", "2026-11-21 00:00:00"),
        ("*-04,06,09,11-31 *:*:*", "1970-01-01 00:00:00"),
        ("2027,2100-02-29 00:00:00", "1970-01-01 00:00:00"),
        ("2025-*-* *:*:*", "2026-01-01 00:00:00"),
        ("2026-11-21 12:00:00", "2026-11-21 12:00:00"),
        ("Tue 2026-11-21 12:00:00", "1970-01-01 00:00:00"),
        ("yearly", "2199-01-01 00:00:00"),
        ("minutely", "2199-12-31 23:59:00"),
        ("minutely", "2199-12-31 23:59:59"),
    ] {
        assert_eq!(after(calendar, from, 1), [""; 0], "{calendar}");
    }
    assert_eq!(after("minutely", "2199-12-31 23:58:00", 5), ["2199-12-31 23:59:00"]);
    for far in [unix("2200-01-01 00:00:00"), 1 << 40, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        assert_eq!(Calendar::Minutely.next_after(far), None);
    }
    // West of Greenwich the last year lasts longer.
    assert_eq!(after("*-*-* 23:59:59 Etc/GMT+12", "2199-12-31 12:00:00", 5), ["2200-01-01 11:59:59"]);
    assert_eq!(after("minutely", "1970-01-01 00:00:00", 1), ["1970-01-01 00:01:00"]);
    assert_eq!(after("*-*-* 00:00:00 Etc/GMT+12", "1970-01-01 00:00:00", 1), ["1970-01-01 12:00:00"]);
    assert_eq!(after("*-*-* 23:00:00 Etc/GMT+12", "1970-01-01 00:00:00", 1), ["1970-01-02 11:00:00"]);
}

#[test]
fn iana_time_zones_are_applied() {
    let rome = after("*-*-01 00:00:00 Europe/Rome", "2026-02-15 00:00:00", 2);
    assert_eq!(rome, ["2026-02-28 23:00:00", "2026-03-31 22:00:00"]);
    assert_eq!(after("*-*-* 12:00:00 Asia/Kathmandu", "2026-02-15 00:00:00", 1), ["2026-02-15 06:15:00"]);
    assert_eq!(after("*-*-* 00:00:00 Pacific/Kiritimati", "2026-02-15 00:00:00", 1), ["2026-02-15 10:00:00"]);
    for unknown in ["Europe/Atlantis", "europe/rome", "CEST", "GMT+25", "Local", "localtime"] {
        assert!(format!("*-*-01 00:00:00 {unknown}").parse::<Calendar>().is_err(), "{unknown}");
    }
    for utc in ["UTC", "utc", "Etc/UTC", "Zulu", "UCT"] {
        assert_eq!(format!("*-*-01 00:00:00 {utc}").parse(), Ok(Calendar::Monthly), "{utc}");
    }
}

/// The vectors below have many more.
#[test]
fn clock_changes() {
    for (calendar, from, expected) in [
        // In Rome on 29 March 2026, 02:00 is 03:00; on 25 October, 03:00 is 02:00 again: skipped, and not repeated.
        ("*-*-* 02:30:00 Europe/Rome", "2026-03-28 00:00:00", ["2026-03-28 01:30:00", "2026-03-30 00:30:00"]),
        ("*-*-* *:00,30:00 Europe/Rome", "2026-03-29 00:30:00", ["2026-03-29 01:00:00", "2026-03-29 01:30:00"]),
        ("*-*-* 02:30:00 Europe/Rome", "2026-10-24 12:00:00", ["2026-10-25 00:30:00", "2026-10-26 01:30:00"]),
        ("*-*-* 03:00:00 Europe/Rome", "2026-10-25 01:29:59", ["2026-10-25 02:00:00", "2026-10-26 02:00:00"]),
        // Samoa left out the whole of 30 December 2011.
        ("*-*-* 12:00:00 Pacific/Apia", "2011-12-29 00:00:00", ["2011-12-29 22:00:00", "2011-12-30 22:00:00"]),
        // In Beirut clocks go forward at midnight: the day begins at one.
        ("*-*-* 00:00:00 Asia/Beirut", "2024-03-29 22:00:00", ["2024-03-31 21:00:00", "2024-04-01 21:00:00"]),
        // Lord Howe puts its clocks back by half an hour.
        ("*-*-* *:45:00 Australia/Lord_Howe", "2026-04-04 14:00:00", ["2026-04-04 14:45:00", "2026-04-04 16:15:00"]),
    ] {
        assert_eq!(after(calendar, from, 2), expected, "{calendar} after {from}");
    }
    assert_eq!(after("2026-03-29 02:30:00 Europe/Rome", "2026-01-01 00:00:00", 1), [""; 0]);
}

/// See `tests/vectors/next_after.py`.
#[test]
fn results_match_independent_vectors() {
    let vectors = include_str!("../../tests/vectors/next_after.txt");
    for line in vectors.lines() {
        let (from, rest) = line.split_once(' ').unwrap();
        let (expected, calendar) = rest.split_once(' ').unwrap();
        let calendar: Calendar = calendar.parse().unwrap();
        assert_eq!(calendar.next_after(from.parse().unwrap()), Some(expected.parse().unwrap()), "{line}");
    }
    assert_eq!(vectors.lines().count(), 400);
}

#[test]
fn worst_case_calendars_are_fast() {
    let worst = [
        "*-02-30 00:00:00",
        "Mon *-04,06,09,11-31 *:*:* America/New_York",
        "1970..2199/2-2,4,6,9,11-31 0..23:0..59:0..59 Asia/Kathmandu",
        "*-*-30 *:*:* Pacific/Apia",
        "2199-12-31 23:59:59",
    ];
    let start = Instant::now();
    for calendar in worst {
        let calendar: Calendar = calendar.parse().unwrap();
        for _ in 0..20 {
            let _ = calendar.next_after(0);
            let _ = calendar.next_after(unix("2011-12-30 09:59:59"));
        }
    }
    // 200 searches: some milliseconds in an optimised build.
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}

#[test]
fn due_dates_at_the_limits() {
    let recurrence = |until, max_payments| Recurrence {
        until,
        calendar: Calendar::Monthly,
        max_payments,
        first_payment_due: unix("2026-11-21 04:36:13"),
    };
    let first = recurrence(None, None).first_payment_due;
    assert_eq!(recurrence(None, None).next_due(None), Some((1, first)));
    assert_eq!(recurrence(None, None).next_due(Some((1, first))), Some((2, unix("2026-12-01 00:00:00"))));
    assert_eq!(recurrence(Some(first), None).next_due(None), Some((1, first)), "until is the last second that counts");
    assert_eq!(recurrence(Some(first - 1), None).next_due(None), None);
    assert_eq!(recurrence(Some(unix("2026-11-30 23:59:59")), None).next_due(Some((1, first))), None);
    assert_eq!(recurrence(None, Some(0)).next_due(None), None);
    assert_eq!(recurrence(None, Some(1)).next_due(None), Some((1, first)));
    assert_eq!(recurrence(None, Some(1)).next_due(Some((1, first))), None);
    assert_eq!(recurrence(None, None).next_due(Some((u32::MAX, first))), None);
    assert_eq!(recurrence(None, None).next_due(Some((7, u64::MAX))), None);
}
