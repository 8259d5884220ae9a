//! Results of checks.

use std::fmt;

use serde::Serialize;

/// The severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// Correct.
    Ok,
    /// Works, but could be better.
    Warn,
    /// Requires action.
    Fail,
}

/// A line of the report. Contains no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was checked, in one word.
    pub(super) check: &'static str,
    /// The severity.
    pub(super) state: State,
    /// The result.
    pub(super) message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, state: State::Ok, message: message.into(), advice: None }
    }

    pub(super) fn warn(check: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { check, state: State::Warn, message: message.into(), advice: Some(advice.into()) }
    }

    pub(super) fn fail(check: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { check, state: State::Fail, message: message.into(), advice: Some(advice.into()) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Fail => "fail",
        };
        write!(f, "{state:<5} {:<14} {}", self.check, self.message)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}
