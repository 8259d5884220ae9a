//! Why the program ends otherwise than asked, and its exit codes.

use std::error::Error;
use std::process::ExitCode;

use crate::output::tell;

/// `EX_CONFIG` of sysexits.h: starting again changes nothing (systemd: `RestartPreventExitStatus=78`).
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
            Self::Other(error) => {
                let mut text = error.to_string();
                let mut source = error.source();
                while let Some(cause) = source {
                    text = format!("{text}: {cause}");
                    source = cause.source();
                }
                tell(&format!("usher: {text}"));
                ExitCode::FAILURE
            }
        }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(Box::new(error))
    }
}
