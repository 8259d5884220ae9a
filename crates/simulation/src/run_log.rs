//! The log of a run, and its hash, with which two runs are compared.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// What happened, in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    lines: Vec<String>,
    hasher: DefaultHasher,
}

impl History {
    pub(crate) fn log(&mut self, at: u64, what: &str) {
        (at, what).hash(&mut self.hasher);
        let mut line = String::new();
        let (secs, millis) = (at / 1000, at % 1000);
        let (days, secs) = (secs / 86_400, secs % 86_400);
        if days > 0 {
            let _ = write!(line, "day {days} ");
        }
        let _ = write!(line, "{:02}:{:02}:{:02}.{millis:03}  {what}", secs / 3600, secs / 60 % 60, secs % 60);
        self.lines.push(line);
    }

    /// The same for runs in which the same happened at the same times.
    pub(crate) fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}
