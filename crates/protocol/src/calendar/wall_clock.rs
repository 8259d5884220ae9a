//! Conversion between instants and the wall clock of a time zone.

use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset as _, TimeDelta, TimeZone as _};
use chrono_tz::Tz;

use super::expression::Fields;

/// 2200-01-02 00:00:00 UTC: the year 2199 is over in all time zones.
const END: u64 = 7_258_204_800;

/// Exceeds every offset from UTC, in seconds; the largest in history is 15 h 13 min 42 s.
const FURTHEST: i64 = 16 * 60 * 60;

pub(super) fn next_after(fields: &Fields, from: u64) -> Option<u64> {
    if from >= END {
        return None;
    }
    let from = i64::try_from(from).ok()?;
    let zone = fields.zone;
    let second = TimeDelta::seconds(1);
    let mut wall = reached(zone, from)?.checked_add_signed(second)?;
    loop {
        wall = fields.next(wall)?;
        wall = match zone.from_local_datetime(&wall).earliest() {
            Some(instant) if instant.timestamp() > from => return u64::try_from(instant.timestamp()).ok(),
            Some(_) => wall.checked_add_signed(second)?,
            None => after_gap(zone, wall)?,
        }
    }
}

fn shown(zone: Tz, instant: i64) -> Option<NaiveDateTime> {
    Some(DateTime::from_timestamp(instant, 0)?.with_timezone(&zone).naive_local())
}

/// The latest time shown up to `instant`: after a clock was set back, later than the current one.
fn reached(zone: Tz, instant: i64) -> Option<NaiveDateTime> {
    let now = shown(zone, instant)?;
    match zone.from_local_datetime(&now) {
        MappedLocalTime::Ambiguous(first, second) if first.timestamp() < instant => {
            let summer = first.offset().fix();
            let offset = |at: i64| DateTime::from_timestamp(at, 0).map(|at| at.with_timezone(&zone).offset().fix());
            let put_back = turn(first.timestamp(), second.timestamp(), |at| offset(at) == Some(summer));
            shown(zone, put_back - 1)
        }
        _ => Some(now),
    }
}

/// The first time that the wall clock shows after `wall`, which it skips.
fn after_gap(zone: Tz, wall: NaiveDateTime) -> Option<NaiveDateTime> {
    let near = wall.and_utc().timestamp();
    let put_forward = turn(near - FURTHEST, near + FURTHEST, |at| shown(zone, at).is_some_and(|shown| shown <= wall));
    shown(zone, put_forward)
}

/// The first instant in `before..=after` at which `still` is false; it is true at `before` and false at `after`.
fn turn(mut before: i64, mut after: i64, still: impl Fn(i64) -> bool) -> i64 {
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if still(middle) { before = middle } else { after = middle }
    }
    after
}
