use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{TimeZone, TimeZoneDatabase};

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

pub(super) struct Fields {
    weekdays: Field,
    years: Field,
    months: Field,
    days: Field,
    hours: Field,
    minutes: Field,
    seconds: Field,
    pub(super) zone: TimeZone,
}

impl Fields {
    /// Parses `text`; `None` if it has another form or an unknown time zone.
    pub(super) fn parse(text: &str) -> Option<Self> {
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
        let zone = parts.next().map_or(Some(TimeZone::UTC), zone)?;
        let whole = parts.next().is_none();
        whole.then_some(Self { weekdays, years, months, days, hours, minutes, seconds, zone })
    }

    pub(super) fn spell(&self) -> String {
        let mut normal = String::new();
        if !self.weekdays.is_all(WEEKDAYS) {
            normal.push_str(&self.weekdays.spell(WEEKDAYS, weekday_name));
            normal.push(' ');
        }
        normal.push_str(&format!(
            "{}-{}-{} {}:{}:{}",
            self.years.spell_numbers(YEARS),
            self.months.spell_numbers(MONTHS),
            self.days.spell_numbers(DAYS),
            self.hours.spell_numbers(HOURS),
            self.minutes.spell_numbers(MINUTES),
            self.seconds.spell_numbers(SECONDS),
        ));
        if let Some(name) = self.zone.iana_name().filter(|_| self.zone != TimeZone::UTC) {
            normal.push(' ');
            normal.push_str(name);
        }
        normal
    }

    /// The first allowed time on the wall clock, at `from` or later; `None` after the year 2199.
    pub(super) fn next(&self, from: DateTime) -> Option<DateTime> {
        let (date, time) = (from.date(), from.time());
        if self.date_from(date) == Some(date)
            && let Some(time) = self.time_from(time)
        {
            return Some(date.to_datetime(time));
        }
        Some(self.date_from(date.tomorrow().ok()?)?.to_datetime(self.time_from(Time::midnight())?))
    }

    fn date_from(&self, from: Date) -> Option<Date> {
        let start = (whole(from.year()), whole(from.month()), whole(from.day()));
        for year in self.years.from(YEARS, start.0) {
            for month in self.months.from(MONTHS, if year == start.0 { start.1 } else { 1 }) {
                for day in self.days.from(DAYS, if (year, month) == (start.0, start.1) { start.2 } else { 1 }) {
                    // The month does not have this day or later ones.
                    let Ok(date) = Date::new(part(year)?, part(month)?, part(day)?) else { break };
                    if self.weekdays.contains(WEEKDAYS, whole(date.weekday().to_monday_zero_offset())) {
                        return Some(date);
                    }
                }
            }
        }
        None
    }

    fn time_from(&self, from: Time) -> Option<Time> {
        let start = (whole(from.hour()), whole(from.minute()), whole(from.second()));
        for hour in self.hours.from(HOURS, start.0) {
            for minute in self.minutes.from(MINUTES, if hour == start.0 { start.1 } else { 0 }) {
                let first = if (hour, minute) == (start.0, start.1) { start.2 } else { 0 };
                if let Some(second) = self.seconds.from(SECONDS, first).next() {
                    return Time::new(part(hour)?, part(minute)?, part(second)?, 0).ok();
                }
            }
        }
        None
    }
}

fn whole(part: impl TryInto<u16>) -> u16 {
    part.try_into().unwrap_or(0)
}

fn part<P: TryFrom<u16>>(whole: u16) -> Option<P> {
    whole.try_into().ok()
}

/// Exactly three fields of numbers.
fn three(text: &str, separator: char, bounds: [Bounds; 3]) -> Option<[Field; 3]> {
    let mut fields = text.split(separator);
    let mut next = |bounds| Field::parse(fields.next()?, bounds, number);
    let [first, second, third] = bounds;
    let three = [next(first)?, next(second)?, next(third)?];
    fields.next().is_none().then_some(three)
}

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

/// A time zone by its exact name in the IANA database, or by any name of UTC.
fn zone(name: &str) -> Option<TimeZone> {
    const UTC: [&str; 7] = ["Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"];
    if name.eq_ignore_ascii_case("UTC") || UTC.contains(&name) {
        return Some(TimeZone::UTC);
    }
    let zone = TimeZoneDatabase::bundled().get(name).ok()?;
    (zone.iana_name() == Some(name) && !zone.is_unknown()).then_some(zone)
}
