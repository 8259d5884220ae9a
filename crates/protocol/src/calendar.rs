//! Calendars of subscriptions (docs/protocol.md, Payments).
//!
//! A service sends one of eight keywords. Deployed wallets send them back expanded, in systemd's form `[weekdays
//! ]year-month-day hour:minute:second[ timezone]` with fields `*`, `a`, `a..b`, `a..b/step` and lists of these. Each
//! text is normalised. Times are UTC unless a time zone of the IANA database is named.

mod expression;
mod field;
mod wall_clock;

use std::fmt;
use std::str::FromStr;

use self::expression::Fields;

/// Longest text parsed, in bytes; no normal spelling is longer.
pub const MAX_CALENDAR_BYTES: usize = 2048;

/// When a subscription is paid.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Calendar {
    /// At the start of every minute.
    Minutely,
    /// At the start of every hour.
    Hourly,
    /// Every midnight.
    Daily,
    /// Every Monday's midnight.
    Weekly,
    /// The first of every month.
    Monthly,
    /// The first of January, April, July and October.
    Quarterly,
    /// The first of January and July.
    Semiannually,
    /// The first of January.
    Yearly,
    /// Another calendar, as chosen by a wallet.
    Other(Expression),
}

/// A calendar without a keyword of its own, in its normal spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression(String);

/// A text is not a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a calendar: one of minutely, hourly, daily, weekly, monthly, quarterly, semiannually, yearly")]
pub struct NotACalendar;

/// The keywords and what they expand to, in the normal spelling.
const WORDS: [(Calendar, &str, &str); 8] = [
    (Calendar::Minutely, "minutely", "*-*-* *:*:00"),
    (Calendar::Hourly, "hourly", "*-*-* *:00:00"),
    (Calendar::Daily, "daily", "*-*-* 00:00:00"),
    (Calendar::Weekly, "weekly", "Mon *-*-* 00:00:00"),
    (Calendar::Monthly, "monthly", "*-*-01 00:00:00"),
    (Calendar::Quarterly, "quarterly", "*-01,04,07,10-01 00:00:00"),
    (Calendar::Semiannually, "semiannually", "*-01,07-01 00:00:00"),
    (Calendar::Yearly, "yearly", "*-01-01 00:00:00"),
];

impl Calendar {
    /// The calendar of a keyword.
    pub fn from_word(word: &str) -> Option<Self> {
        WORDS.into_iter().find(|(_, known, _)| *known == word).map(|(calendar, _, _)| calendar)
    }

    /// The keyword, if there is one.
    pub fn word(&self) -> Option<&'static str> {
        WORDS.iter().find(|(calendar, _, _)| calendar == self).map(|(_, word, _)| *word)
    }

    /// The first occurrence strictly after `from`, both in Unix seconds; `None` without one before 2200.
    ///
    /// An occurrence is an instant at which the wall clock of the time zone shows an allowed time. Days that a month
    /// does not have are skipped and, as in systemd, so are times skipped when clocks are put forward. A time that is
    /// repeated when clocks are put back counts once, the first time.
    pub fn next_after(&self, from: u64) -> Option<u64> {
        wall_clock::next_after(&Fields::parse(self.expanded())?, from)
    }

    /// The expanded form, as deployed wallets send it.
    pub fn expanded(&self) -> &str {
        match self {
            Self::Other(expression) => &expression.0,
            Self::Minutely
            | Self::Hourly
            | Self::Daily
            | Self::Weekly
            | Self::Monthly
            | Self::Quarterly
            | Self::Semiannually
            | Self::Yearly => {
                WORDS.iter().find(|(calendar, _, _)| calendar == self).map_or("", |(_, _, expanded)| expanded)
            }
        }
    }
}

impl FromStr for Calendar {
    type Err = NotACalendar;

    fn from_str(text: &str) -> Result<Self, NotACalendar> {
        if text.len() > MAX_CALENDAR_BYTES {
            return Err(NotACalendar);
        }
        if let Some(calendar) = Self::from_word(text) {
            return Ok(calendar);
        }
        let normal = Fields::parse(text).ok_or(NotACalendar)?.spell();
        Ok(match WORDS.into_iter().find(|(_, _, expanded)| *expanded == normal) {
            Some((calendar, _, _)) => calendar,
            None => Self::Other(Expression(normal)),
        })
    }
}

impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word().unwrap_or_else(|| self.expanded()))
    }
}

crate::text_in_json!(Calendar);
