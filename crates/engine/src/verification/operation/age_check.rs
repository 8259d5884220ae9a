//! A check by a provider, and the browser that began it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ports::PendingAgeCheck;

/// Intervals for polling the result of a check: at first, and later.
pub(super) const POLL_PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// Polls at the first interval.
const OFTEN: u32 = 60;

/// A started check by a provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgeCheck {
    /// The state of the provider's adapter.
    #[serde(rename = "memo")]
    pub pending: PendingAgeCheck,
    /// Whether the provider can be polled for the result; otherwise the browser brings it, once.
    pub polled: bool,
}

/// The browser that started a check and returns from the provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedBrowser {
    /// The parameter in its query: random, and known to the provider.
    pub state: String,
    /// The secret in its cookie: random, and known to nobody else.
    pub secret: String,
}

/// The result of a browser's return.
#[derive(Clone)]
pub enum CheckReturn {
    /// The check whose result is to be fetched.
    Check(AgeCheck),
    /// The check ended without it: the provider was polled meanwhile, the session was decided, or has expired.
    Ended,
}

/// Why a check was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginFault {
    /// The session is decided or has expired.
    Ended,
    /// A later check was started meanwhile, as by a double click; that one continues.
    Superseded,
}

pub(super) fn poll_pause(polls: u32) -> Duration {
    POLL_PAUSES[usize::from(polls > OFTEN)]
}
