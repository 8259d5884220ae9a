//! Why a profile could not be looked up.

use usher_engine::ports::LookUpError;

use crate::problem::{ErrorCode, Problem, RETRY_SECONDS};

impl From<LookUpError> for Problem {
    fn from(error: LookUpError) -> Self {
        match error {
            LookUpError::NoRelay => no_relay(),
            LookUpError::Busy => Self::overloaded("too many concurrent look-ups"),
        }
    }
}

/// No relay responds.
pub(super) fn no_relay() -> Problem {
    Problem::new(ErrorCode::NoRelayConnected, "no relay is connected, or none responded in time")
        .retry_after(RETRY_SECONDS)
}
