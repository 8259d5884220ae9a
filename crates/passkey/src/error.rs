//! Why an authenticator's answer is refused.

use std::fmt;

/// Longest error about malformed input, in characters.
const MAX_ERROR_CHARS: usize = 200;

/// Why a response is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    /// Not an authenticator's response.
    #[error("not an authenticator's answer: {0}")]
    Malformed(String),
    /// A check failed: challenge, origin, RP id, user verification, signature, counter.
    #[error("the authenticator's answer is refused: {0}")]
    Refused(String),
    /// The counter decreased: the passkey may have been cloned.
    #[error("the passkey's counter went back: there may be a copy of it")]
    CounterWentBack,
    /// The stored passkey cannot be read.
    #[error("the stored passkey cannot be read")]
    Unreadable,
}

/// Truncates errors of parsers, which repeat their input and could fill the log.
pub(crate) fn malformed(error: impl fmt::Display) -> PasskeyError {
    PasskeyError::Malformed(error.to_string().chars().take(MAX_ERROR_CHARS).collect())
}
