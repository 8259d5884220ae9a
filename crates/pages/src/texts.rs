//! The texts of the pages, generated from `crates/texts`, and texts that depend on a number.
#![deny(dead_code)]

use std::time::Duration;

include!(concat!(env!("OUT_DIR"), "/texts.rs"));

impl Texts {
    /// How long something remains possible.
    pub(crate) fn time_left(&self, left: Duration) -> String {
        match left.as_secs() / 60 {
            0 => self.seconds_left.to_owned(),
            1 => self.one_minute_left.to_owned(),
            minutes => self.minutes_left(minutes),
        }
    }

    /// How long something remained possible when the page was loaded; true while the page is shown.
    pub(crate) fn time_left_when_loaded(&self, left: Duration) -> String {
        let seconds = left.as_secs();
        self.left_when_loaded(format_args!("{}:{:02}", seconds / 60, seconds % 60))
    }
}
