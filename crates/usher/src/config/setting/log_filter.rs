//! Log filters.

use tracing_subscriber::EnvFilter;

use super::{RawValue, Setting, quoted, text, unfit};

/// Longest filter, in bytes: some dozen directives.
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
    fn expected() -> String {
        "error, warn, info, debug, trace, off, or a list such as warn,usher_relays=debug".to_owned()
    }
    const EXAMPLE: &'static str = "\"info\"";

    fn read(given: &RawValue) -> Result<Self, String> {
        let text = text::<Self>(given)?;
        if text.len() > MAX_BYTES || parse_filter(text).is_err() {
            return Err(unfit::<Self>());
        }
        Ok(Self(text.to_owned()))
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// Why a filter is invalid. Does not contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It is not UTF-8.
    #[error("it is not UTF-8")]
    Encoding,
    /// It is not a list of levels and targets.
    #[error("it is not a list such as `info` or `warn,usher_relays=debug`")]
    Form,
    /// A misspelt level, which would count as a target and turn everything else off.
    #[error("unknown level; did you mean `{0}`?")]
    Level(&'static str),
}

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// The similarity to a level's name from which a word counts as a misspelling: `inof` and `warning`, but not names of
/// libraries.
const ALIKE: f64 = 0.85;

/// Parses a filter, as in `RUST_LOG` and `log.level`.
pub fn parse_filter(asked: &str) -> Result<EnvFilter, FilterError> {
    let filter = EnvFilter::builder().parse(asked).map_err(|_| FilterError::Form)?;
    // A single word that is not a level is a target, and turns everything else off.
    for word in asked.split(',').map(|directive| directive.trim().to_ascii_lowercase()) {
        let is_level = LEVELS.contains(&word.as_str()) || word.parse::<u8>().is_ok();
        let meant = LEVELS.into_iter().find(|level| strsim::jaro_winkler(&word, level) > ALIKE);
        if let (false, Some(level)) = (is_level, meant) {
            return Err(FilterError::Level(level));
        }
    }
    Ok(filter)
}
