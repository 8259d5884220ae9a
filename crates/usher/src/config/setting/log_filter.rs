//! What is logged.

use super::{Given, Setting, quoted, text, unfit};
use crate::logging;

/// Longest filter, in bytes: some dozens of directives.
const MAX_BYTES: usize = 1000;

/// A level, or a list of levels and targets, as `RUST_LOG` takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for LogFilter {
    fn shape() -> String {
        "error, warn, info, debug, trace, off, or a list such as warn,usher_relays=debug".to_owned()
    }
    const EXAMPLE: &'static str = "\"info\"";

    fn read(given: &Given) -> Result<Self, String> {
        let text = text::<Self>(given)?;
        if text.len() > MAX_BYTES || logging::parse(text).is_err() {
            return Err(unfit::<Self>());
        }
        Ok(Self(text.to_owned()))
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}
