//! Failures of the program, and its exit codes.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use crate::output::tell;

/// `EX_CONFIG` of sysexits.h: a restart would fail in the same way (systemd: `RestartPreventExitStatus=78`).
const EX_CONFIG: u8 = 78;

/// Wrong arguments, as in shells and most programs.
pub const EX_USAGE: u8 = 2;

/// Why the program ends.
#[derive(Debug)]
pub enum Failure {
    /// Errors in the configuration, one per line.
    Configuration(Vec<String>),
    /// The arguments are wrong.
    Usage(String),
    /// The stored data cannot be used with this program or these settings; a restart does not help.
    Refused(Box<dyn Error + Send + Sync>),
    /// The error was already printed; only the exit code remains.
    Reported(u8),
    /// Anything else.
    Other(Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// A failure with this message.
    pub fn said(what: impl Into<String>) -> Self {
        Self::Other(what.into().into())
    }

    /// An invalid argument, with this message.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::Usage(what.into())
    }

    /// Data that a restart cannot use either.
    pub fn refused(what: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Refused(what.into())
    }

    /// Everything was printed, and something requires action.
    pub const fn reported() -> Self {
        Self::Reported(1)
    }

    /// Everything was printed, and the configuration has errors.
    pub const fn reported_configuration() -> Self {
        Self::Reported(EX_CONFIG)
    }

    /// Prints the failure to standard error, and returns the exit code.
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
