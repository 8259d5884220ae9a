//! Why a request was not forwarded.

use std::borrow::Cow;

use crate::problem::{ErrorCode, Problem};

/// `Retry-After` in seconds: a take-over takes a few seconds.
const RETRY_SECONDS: u64 = 1;

/// The active instance does not respond.
pub(super) fn unreachable() -> Problem {
    none("the active instance cannot be reached; whether the request took effect is unknown")
}

/// This instance is no longer the active one, or another one became active.
pub(crate) fn outcome_unknown() -> Problem {
    none("another instance became active; whether the request took effect is unknown")
}

pub(super) fn none(detail: impl Into<Cow<'static, str>>) -> Problem {
    Problem::new(ErrorCode::NoActiveInstance, detail).retry_after(RETRY_SECONDS)
}
