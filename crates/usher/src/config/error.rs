//! What is wrong with a configuration, and where it came from.

use std::fmt;
use std::path::PathBuf;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: it is the default.
    Default,
    /// In a file, at a line (from 1).
    Line(PathBuf, usize),
    /// In a file, the line is unknown or does not matter.
    File(PathBuf),
    /// In an environment variable.
    Variable(String),
    /// In a secret's own file, which is named elsewhere.
    SecretFile(PathBuf, Box<Origin>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Line(path, line) => write!(f, "{}:{line}", path.display()),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::SecretFile(path, named_by) => write!(f, "{named_by} ({})", path.display()),
        }
    }
}

/// One thing that is wrong: one line to the operator. It never contains a value that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Where; `None` when something is missing.
    pub origin: Option<Origin>,
    /// What, as one sentence without full stop.
    pub what: String,
}

impl ConfigError {
    /// A error in a given value.
    pub fn at(origin: Origin, what: impl Into<String>) -> Self {
        Self { origin: Some(origin), what: what.into() }
    }

    /// Something that is not there.
    pub fn missing(what: impl Into<String>) -> Self {
        Self { origin: None, what: what.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(origin) => write!(f, "{origin}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}
