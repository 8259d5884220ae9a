//! Conversion between instants and the wall clock of a time zone.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _};

use super::expression::Fields;

/// 2200-01-02 00:00:00 UTC: the year 2199 is over in all time zones.
const END: u64 = 7_258_204_800;

pub(super) fn next_after(fields: &Fields, from: u64) -> Option<u64> {
    if from >= END {
        return None;
    }
    let from = Timestamp::from_second(i64::try_from(from).ok()?).ok()?;
    let zone = &fields.zone;
    let mut wall = reached(zone, from)?.checked_add(1.second()).ok()?;
    loop {
        wall = fields.next(wall)?;
        wall = match zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                let instant = offset.to_timestamp(wall).ok()?;
                if instant > from {
                    return u64::try_from(instant.as_second()).ok();
                }
                wall.checked_add(1.second()).ok()?
            }
            // The first time after those that the wall clock skips.
            AmbiguousOffset::Gap { before, .. } => zone.to_datetime(turned(zone, before.to_timestamp(wall).ok()?)?),
        }
    }
}

/// The latest time shown up to `instant`: after a clock was set back, later than the current one.
fn reached(zone: &TimeZone, instant: Timestamp) -> Option<DateTime> {
    let now = zone.to_datetime(instant);
    match zone.to_ambiguous_timestamp(now).offset() {
        AmbiguousOffset::Fold { before, .. } if before.to_timestamp(now).ok()? < instant => {
            Some(zone.to_datetime(turned(zone, instant)?.checked_sub(1.second()).ok()?))
        }
        _ => Some(now),
    }
}

/// When the clock was turned last, up to `instant`.
fn turned(zone: &TimeZone, instant: Timestamp) -> Option<Timestamp> {
    Some(zone.preceding(instant.checked_add(1.second()).ok()?).next()?.timestamp())
}
