//! The calendar form of systemd, as far as the protocol uses it.

use super::field::{Bounds, Field};

const YEARS: Bounds = Bounds { first: 1970, last: 2199, digits: 4 };
const MONTHS: Bounds = Bounds { first: 1, last: 12, digits: 2 };
const DAYS: Bounds = Bounds { first: 1, last: 31, digits: 2 };
const HOURS: Bounds = Bounds { first: 0, last: 23, digits: 2 };
const MINUTES: Bounds = Bounds { first: 0, last: 59, digits: 2 };
const SECONDS: Bounds = Bounds { first: 0, last: 59, digits: 2 };
const WEEKDAYS: Bounds = Bounds { first: 0, last: 6, digits: 1 };

const WEEKDAY_NAMES: [(&str, &str); 7] = [
    ("Mon", "Monday"),
    ("Tue", "Tuesday"),
    ("Wed", "Wednesday"),
    ("Thu", "Thursday"),
    ("Fri", "Friday"),
    ("Sat", "Saturday"),
    ("Sun", "Sunday"),
];

/// Longest name of a time zone, in bytes; the longest in use has 32.
const MAX_TIMEZONE_BYTES: usize = 64;

/// The normal spelling of `text`, the same for all texts that mean the same; none when it is not of the form.
pub(super) fn normalise(text: &str) -> Option<String> {
    let mut parts = text.split_ascii_whitespace();
    let mut next = parts.next()?;
    let weekdays = if next.contains('-') {
        Field::all(WEEKDAYS)
    } else {
        let weekdays = Field::parse(next, WEEKDAYS, weekday)?;
        next = parts.next()?;
        weekdays
    };
    let [years, months, days] = three(next, '-', [YEARS, MONTHS, DAYS])?;
    let [hours, minutes, seconds] = three(parts.next()?, ':', [HOURS, MINUTES, SECONDS])?;
    let timezone = match parts.next() {
        Some(zone) if !is_timezone(zone) => return None,
        zone => zone,
    };
    if parts.next().is_some() {
        return None;
    }

    let mut normal = String::new();
    if !weekdays.is_all(WEEKDAYS) {
        normal.push_str(&weekdays.spell(WEEKDAYS, weekday_name));
        normal.push(' ');
    }
    normal.push_str(&format!(
        "{}-{}-{} {}:{}:{}",
        years.spell_numbers(YEARS),
        months.spell_numbers(MONTHS),
        days.spell_numbers(DAYS),
        hours.spell_numbers(HOURS),
        minutes.spell_numbers(MINUTES),
        seconds.spell_numbers(SECONDS),
    ));
    if let Some(timezone) = timezone.filter(|zone| !zone.eq_ignore_ascii_case("UTC")) {
        normal.push(' ');
        normal.push_str(timezone);
    }
    Some(normal)
}

/// Exactly three fields of numbers.
fn three(text: &str, separator: char, bounds: [Bounds; 3]) -> Option<[Field; 3]> {
    let mut fields = text.split(separator);
    let mut next = |bounds| Field::parse(fields.next()?, bounds, number);
    let [first, second, third] = bounds;
    let three = [next(first)?, next(second)?, next(third)?];
    fields.next().is_none().then_some(three)
}

/// A number of at most four digits, with or without leading zeros.
fn number(text: &str) -> Option<u16> {
    ((1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn weekday(text: &str) -> Option<u16> {
    let position = WEEKDAY_NAMES
        .iter()
        .position(|(short, long)| text.eq_ignore_ascii_case(short) || text.eq_ignore_ascii_case(long))?;
    u16::try_from(position).ok()
}

fn weekday_name(day: u16) -> String {
    WEEKDAY_NAMES.get(usize::from(day)).map_or("", |(short, _)| short).to_owned()
}

fn is_timezone(text: &str) -> bool {
    text.len() <= MAX_TIMEZONE_BYTES
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'-' | b'/'))
}
