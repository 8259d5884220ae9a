//! Errors of a configuration, and the origins of values.

use std::fmt;
use std::path::PathBuf;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Not given: the default.
    Default,
    /// In a file, at a line (from 1).
    Line(PathBuf, usize),
    /// In a file, without a line.
    File(PathBuf),
    /// In an environment variable.
    Variable(String),
    /// In a secret's own file, with the origin of its name.
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

/// One error on one line. It never contains a given value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Where; `None` if something is missing.
    pub origin: Option<Origin>,
    /// One sentence without a full stop.
    pub what: String,
}

impl ConfigError {
    /// An error in a given value.
    pub fn at(origin: Origin, what: impl Into<String>) -> Self {
        Self { origin: Some(origin), what: what.into() }
    }

    /// A missing value.
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
