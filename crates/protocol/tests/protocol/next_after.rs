//! The next occurrence of a calendar: fixed cases, and independent calculations that try every second or minute.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveDateTime, Timelike as _, Utc};
use chrono_tz::Tz;
use proptest::prelude::*;
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
}

#[test]
fn next_occurrence_is_strictly_later() {
    let daily = Calendar::Daily;
    let midnight = unix("2026-11-21 00:00:00");
    assert_eq!(daily.next_after(midnight - 1), Some(midnight));
    assert_eq!(daily.next_after(midnight), Some(midnight + 86_400));
    let every_second: Calendar = "*-*-* *:*:*".parse().unwrap();
    assert_eq!(every_second.next_after(midnight), Some(midnight + 1));
}

#[test]
fn months_without_the_day_are_skipped() {
    assert_eq!(
        after("*-*-31 12:00:00", "2027-01-31 12:00:00", 6),
        [
            "2027-03-31 12:00:00",
            "2027-05-31 12:00:00",
            "2027-07-31 12:00:00",
            "2027-08-31 12:00:00",
            "2027-10-31 12:00:00",
            "2027-12-31 12:00:00"
        ]
    );
    assert_eq!(after("*-*-29..31 00:00:00", "2027-01-31 00:00:00", 2), ["2027-03-29 00:00:00", "2027-03-30 00:00:00"]);
    assert_eq!(after("*-02-29 00:00:00", "2026-11-21 00:00:00", 2), ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]);
    // 2100 is no leap year.
    assert_eq!(after("*-02-29 00:00:00", "2096-02-29 00:00:00", 1), ["2104-02-29 00:00:00"]);
    assert_eq!(after("Mon *-02-29 00:00:00", "2026-11-21 00:00:00", 2), ["2044-02-29 00:00:00", "2072-02-29 00:00:00"]);
    assert_eq!(after("Fri *-*-13 00:00:00", "2026-11-21 00:00:00", 2), ["2027-08-13 00:00:00", "2028-10-13 00:00:00"]);
}

#[test]
fn next_occurrence_with_lists_ranges_and_steps() {
    assert_eq!(
        after("Mon..Fri *-*-* 09:30:00", "2026-11-20 09:30:00", 2),
        ["2026-11-23 09:30:00", "2026-11-24 09:30:00"]
    );
    assert_eq!(
        after("*-*-* 9..17/4:0..59/20:30", "2026-11-21 09:41:00", 3),
        ["2026-11-21 13:00:30", "2026-11-21 13:20:30", "2026-11-21 13:40:30"]
    );
    assert_eq!(
        after("2026,2030-06..08-15 00:00:00", "2026-07-15 00:00:00", 3),
        ["2026-08-15 00:00:00", "2030-06-15 00:00:00", "2030-07-15 00:00:00"]
    );
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
    assert_eq!(
        after("*-*-01 00:00:00 Europe/Rome", "2026-02-15 00:00:00", 3),
        ["2026-02-28 23:00:00", "2026-03-31 22:00:00", "2026-04-30 22:00:00"]
    );
    assert_eq!(after("*-*-* 12:00:00 Asia/Kathmandu", "2026-02-15 00:00:00", 1), ["2026-02-15 06:15:00"]);
    assert_eq!(after("*-*-* 00:00:00 Pacific/Kiritimati", "2026-02-15 00:00:00", 1), ["2026-02-15 10:00:00"]);
    for unknown in ["Europe/Atlantis", "europe/rome", "CEST", "GMT+25", "Local", "localtime"] {
        assert!(format!("*-*-01 00:00:00 {unknown}").parse::<Calendar>().is_err(), "{unknown}");
    }
    for utc in ["UTC", "utc", "Etc/UTC", "Zulu", "UCT"] {
        assert_eq!(format!("*-*-01 00:00:00 {utc}").parse(), Ok(Calendar::Monthly), "{utc}");
    }
}

#[test]
fn times_skipped_by_daylight_saving_are_skipped() {
    // In Rome on 29 March 2026, 02:00 is 03:00.
    assert_eq!(
        after("*-*-* 02:30:00 Europe/Rome", "2026-03-28 00:00:00", 2),
        ["2026-03-28 01:30:00", "2026-03-30 00:30:00"]
    );
    assert_eq!(
        after("*-*-* *:00,30:00 Europe/Rome", "2026-03-29 00:00:00", 3),
        ["2026-03-29 00:30:00", "2026-03-29 01:00:00", "2026-03-29 01:30:00"]
    );
    assert_eq!(after("*-*-* 02:00:00..59 Europe/Rome", "2026-03-28 01:00:59", 1), ["2026-03-30 00:00:00"]);
    assert_eq!(after("*-*-* 03:00:00 Europe/Rome", "2026-03-29 00:59:59", 1), ["2026-03-29 01:00:00"]);
    assert_eq!(after("2026-03-29 02:30:00 Europe/Rome", "2026-01-01 00:00:00", 1), [""; 0]);
    // Samoa left out the whole of 30 December 2011.
    assert_eq!(
        after("*-*-* 12:00:00 Pacific/Apia", "2011-12-29 00:00:00", 2),
        ["2011-12-29 22:00:00", "2011-12-30 22:00:00"]
    );
    assert_eq!(after("*-*-30 *:*:* Pacific/Apia", "2011-12-01 10:00:00", 1), ["2012-01-29 10:00:00"]);
    // In Beirut clocks go forward at midnight: the day begins at one.
    assert_eq!(
        after("*-*-* 00:00:00 Asia/Beirut", "2024-03-29 22:00:00", 2),
        ["2024-03-31 21:00:00", "2024-04-01 21:00:00"]
    );
}

#[test]
fn times_repeated_by_daylight_saving_occur_once() {
    // In Rome on 25 October 2026, 03:00 is 02:00 again.
    assert_eq!(
        after("*-*-* 02:30:00 Europe/Rome", "2026-10-24 12:00:00", 2),
        ["2026-10-25 00:30:00", "2026-10-26 01:30:00"]
    );
    for second_time in ["2026-10-25 00:30:00", "2026-10-25 00:59:59", "2026-10-25 01:00:00", "2026-10-25 01:29:59"] {
        assert_eq!(after("*-*-* 02:30:00 Europe/Rome", second_time, 1), ["2026-10-26 01:30:00"], "{second_time}");
        assert_eq!(after("*-*-* 03:00:00 Europe/Rome", second_time, 1), ["2026-10-25 02:00:00"], "{second_time}");
    }
    assert_eq!(
        after("*-*-* *:00,30:00 Europe/Rome", "2026-10-25 00:00:00", 3),
        ["2026-10-25 00:30:00", "2026-10-25 02:00:00", "2026-10-25 02:30:00"]
    );
    // Lord Howe puts its clocks back by half an hour.
    assert_eq!(
        after("*-*-* *:45:00 Australia/Lord_Howe", "2026-04-04 14:00:00", 3),
        ["2026-04-04 14:45:00", "2026-04-04 16:15:00", "2026-04-04 17:15:00"]
    );
}

/// See `tests/vectors/next_after.py`.
#[test]
fn results_match_independent_vectors() {
    let vectors = include_str!("../vectors/next_after.txt");
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

/// A calendar as sets of numbers: weekdays from 0 for Monday.
#[derive(Clone, Debug)]
struct Sets {
    weekdays: BTreeSet<u32>,
    years: BTreeSet<i32>,
    months: BTreeSet<u32>,
    days: BTreeSet<u32>,
    hours: BTreeSet<u32>,
    minutes: BTreeSet<u32>,
    seconds: BTreeSet<u32>,
}

impl Sets {
    fn allows_date(&self, date: NaiveDate) -> bool {
        self.weekdays.contains(&date.weekday().num_days_from_monday())
            && self.years.contains(&date.year())
            && self.months.contains(&date.month())
            && self.days.contains(&date.day())
    }

    fn allows(&self, at: NaiveDateTime) -> bool {
        self.allows_date(at.date())
            && self.hours.contains(&at.hour())
            && self.minutes.contains(&at.minute())
            && self.seconds.contains(&at.second())
    }

    fn calendar(&self, zone: Tz) -> Calendar {
        let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let list = |numbers: Vec<String>| numbers.join(",");
        let numbers = |set: &BTreeSet<u32>| list(set.iter().map(u32::to_string).collect());
        let text = format!(
            "{} {}-{}-{} {}:{}:{} {}",
            list(self.weekdays.iter().map(|day| names[*day as usize].to_owned()).collect()),
            list(self.years.iter().map(i32::to_string).collect()),
            numbers(&self.months),
            numbers(&self.days),
            numbers(&self.hours),
            numbers(&self.minutes),
            numbers(&self.seconds),
            zone.name(),
        );
        text.parse().unwrap_or_else(|_| panic!("{text}"))
    }
}

fn some(first: u32, last: u32, most: usize) -> impl Strategy<Value = BTreeSet<u32>> {
    let all: BTreeSet<u32> = (first..=last).collect();
    prop_oneof![1 => Just(all), 2 => proptest::collection::btree_set(first..=last, 1..=most)]
}

fn sets(seconds: impl Strategy<Value = BTreeSet<u32>>) -> impl Strategy<Value = Sets> {
    let years = prop_oneof![
        3 => Just((1970..=2199).collect::<BTreeSet<i32>>()),
        1 => proptest::collection::btree_set(2020..2032, 1..4),
    ];
    (some(0, 6, 4), years, some(1, 12, 4), some(1, 31, 6), some(0, 23, 6), some(0, 59, 6), seconds).prop_map(
        |(weekdays, years, months, days, hours, minutes, seconds)| Sets {
            weekdays,
            years,
            months,
            days,
            hours,
            minutes,
            seconds,
        },
    )
}

/// The first occurrence in UTC: each second of the rest of the first day, then each day, until 2199.
fn every_day(sets: &Sets, from: u64) -> Option<u64> {
    let from = DateTime::<Utc>::from_timestamp(from.try_into().unwrap(), 0).unwrap().naive_utc();
    let mut at = from + chrono::TimeDelta::seconds(1);
    while at.date() == from.date() {
        if sets.allows(at) {
            return Some(at.and_utc().timestamp().try_into().unwrap());
        }
        at += chrono::TimeDelta::seconds(1);
    }
    let mut date = at.date();
    while date.year() < 2200 {
        if sets.allows_date(date) {
            let (hour, minute, second) =
                (*sets.hours.first().unwrap(), *sets.minutes.first().unwrap(), *sets.seconds.first().unwrap());
            let at = date.and_hms_opt(hour, minute, second).unwrap();
            return Some(at.and_utc().timestamp().try_into().unwrap());
        }
        date = date + Days::new(1);
    }
    None
}

/// Zones with clocks that change in many ways, by whole minutes in these years.
const ZONES: [Tz; 10] = [
    Tz::Europe__Rome,
    Tz::America__New_York,
    Tz::Australia__Lord_Howe,
    Tz::Asia__Beirut,
    Tz::Pacific__Apia,
    Tz::America__St_Johns,
    Tz::Africa__Casablanca,
    Tz::Antarctica__Troll,
    Tz::Asia__Kathmandu,
    Tz::Pacific__Chatham,
];

/// The instants, within eight days around which a clock of [`ZONES`] is changed.
fn changes(zone: Tz) -> Vec<u64> {
    use chrono::{Offset as _, TimeZone as _};
    let offset = |at: i64| zone.offset_from_utc_datetime(&DateTime::from_timestamp(at, 0).unwrap().naive_utc()).fix();
    let first = i64::try_from(unix("2010-01-01 00:00:00")).unwrap();
    (0..4000)
        .map(|day| first + day * 86_400)
        .filter(|at| offset(*at) != offset(*at + 86_400))
        .map(|at| at.try_into().unwrap())
        .collect()
}

/// The first occurrence within `minutes` of `from`: each minute is tried. It counts when the clock shows an allowed time
/// that it has not shown before.
fn every_minute(sets: &Sets, zone: Tz, from: u64, minutes: u64) -> Option<u64> {
    let shown =
        |at: u64| DateTime::from_timestamp(at.try_into().unwrap(), 0).unwrap().with_timezone(&zone).naive_local();
    let start = from - from % 60;
    let mut latest = (0..=2 * 1440).map(|before| shown(start - before * 60)).max().unwrap();
    for at in (1..=minutes).map(|minute| start + minute * 60) {
        let now = shown(at);
        if now > latest {
            latest = now;
            if sets.allows(now) {
                return Some(at);
            }
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn matches_brute_force_in_utc(sets in sets(some(0, 59, 6)), from in 1_577_836_800u64..2_000_000_000) {
        prop_assert_eq!(sets.calendar(Tz::UTC).next_after(from), every_day(&sets, from));
    }

    #[test]
    fn matches_brute_force_around_clock_changes(
        mut sets in sets(Just(BTreeSet::from([0]))), zone in 0..ZONES.len(), change in any::<prop::sample::Index>(),
        before in 0u64..4 * 86_400, dense in any::<bool>(),
    ) {
        let zone = ZONES[zone];
        let changes = changes(zone);
        let around = if changes.is_empty() { unix("2026-11-21 00:00:00") } else { changes[change.index(changes.len())] };
        let mut from = around + 2 * 86_400 - before;
        if dense {
            // Any day, so that what matters is near.
            sets.weekdays = (0..=6).collect();
            sets.years = (1970..=2199).collect();
            sets.months = (1..=12).collect();
            sets.days = (1..=31).collect();
        }
        let calendar = sets.calendar(zone);
        for _ in 0..40 {
            let next = calendar.next_after(from);
            match every_minute(&sets, zone, from, 5 * 1440) {
                Some(expected) => prop_assert_eq!(next, Some(expected)),
                None => {
                    prop_assert!(next.is_none_or(|next| next > from - from % 60 + 5 * 86_400), "{next:?}");
                    break;
                }
            }
            from = next.unwrap_or_default();
        }
    }

    #[test]
    fn due_dates_follow_the_calendar(
        sets in sets(some(0, 59, 6)), first in 1_577_836_800u64..1_900_000_000, max in proptest::option::of(0u32..12),
        lasting in proptest::option::of(0u64..300_000_000),
    ) {
        let recurrence = Recurrence {
            until: lasting.map(|lasting| first + lasting),
            calendar: sets.calendar(Tz::UTC),
            max_payments: max,
            first_payment_due: first,
        };
        let dates: Vec<(u32, u64)> =
            std::iter::successors(recurrence.next_due(None), |last| recurrence.next_due(Some(*last))).take(20).collect();

        let mut expected = vec![(1, first)];
        while let Some(due) = expected.last().filter(|_| expected.len() < 20).and_then(|(_, due)| every_day(&sets, *due)) {
            expected.push((expected.len() as u32 + 1, due));
        }
        expected.retain(|(number, due)| {
            max.is_none_or(|max| *number <= max) && lasting.is_none_or(|lasting| *due <= first + lasting)
        });
        prop_assert_eq!(&dates, &expected);
        prop_assert!(dates.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0 && pair[0].1 < pair[1].1));
    }
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
