//! Why the program ends otherwise than asked, and its exit codes.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use crate::output::tell;

/// `EX_CONFIG` of sysexits.h: another start fails in the same way (systemd: `RestartPreventExitStatus=78`).
const EX_CONFIG: u8 = 78;

/// Wrong arguments: what shells and most programs use.
pub const EX_USAGE: u8 = 2;

/// Why the program ends.
#[derive(Debug)]
pub enum Failure {
    /// The configuration is wrong; each line says one thing.
    Configuration(Vec<String>),
    /// The arguments are wrong.
    Usage(String),
    /// The stored data cannot be used with this program or these settings, and another start would not change that.
    Refused(Box<dyn Error + Send + Sync>),
    /// What is wrong has been said already: only the exit code is left.
    Reported(u8),
    /// Anything else.
    Other(Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// A failure that a sentence describes.
    pub fn said(what: impl Into<String>) -> Self {
        Self::Other(what.into().into())
    }

    /// An argument that cannot be used, described by a sentence.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::Usage(what.into())
    }

    /// Data that another start could not use either.
    pub fn refused(what: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Refused(what.into())
    }

    /// Everything has been said, and something needs action.
    pub const fn reported() -> Self {
        Self::Reported(1)
    }

    /// Everything has been said, and the configuration is wrong.
    pub const fn reported_configuration() -> Self {
        Self::Reported(EX_CONFIG)
    }

    /// Tells the operator on standard error, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Configuration(lines) => {
                for line in lines {
                    tell(&format!("usher: {line}"));
                }
                ExitCode::from(EX_CONFIG)
            }
            Self::Usage(what) => {
                tell(&format!("usher: {what}"));
                ExitCode::from(EX_USAGE)
            }
            Self::Refused(_) => {
                tell(&format!("usher: {self}"));
                ExitCode::from(EX_CONFIG)
            }
            Self::Reported(code) => ExitCode::from(*code),
            Self::Other(_) => {
                tell(&format!("usher: {self}"));
                ExitCode::FAILURE
            }
        }
    }
}

/// An error with its causes, on one line.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| Error::source(*error));
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl fmt::Display for Failure {
    /// As one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(lines) => f.write_str(&lines.join("; ")),
            Self::Usage(what) => f.write_str(what),
            Self::Reported(_) => f.write_str("it has been reported"),
            Self::Refused(error) | Self::Other(error) => f.write_str(&chain(&**error)),
        }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(Box::new(error))
    }
}
