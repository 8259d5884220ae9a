//! The age verifier port: an external service that verifies ages instead of the operator's staff.

use async_trait::async_trait;

use crate::UnixMillis;

/// A provider that verifies ages on its own pages, to which the user's browser is redirected and from which it returns.
///
/// Only pass or fail about the user leaves the adapter. Each call returns within the adapter's time limit.
#[async_trait]
pub trait AgeVerifier: Send + Sync {
    /// The provider's name for users: its host.
    fn name(&self) -> &str;

    /// Checks for the operator whether the provider responds and works as configured. Starts no check.
    async fn probe(&self) -> Result<(), AgeVerifierError>;

    /// Starts a check.
    async fn begin(&self, check: &NewAgeCheck) -> Result<BegunAgeCheck, AgeVerifierError>;

    /// The result of a check. `returned` is the query of the returning browser, if it has just returned.
    async fn result(
        &self,
        pending: &PendingAgeCheck,
        returned: Option<&str>,
    ) -> Result<AgeCheckResult, AgeVerifierError>;

    /// Whether the result can be polled; otherwise it is available once, with the browser's return.
    fn can_be_polled(&self) -> bool;
}

/// A check to start.
#[derive(Clone)]
pub struct NewAgeCheck {
    /// The minimum age, in years.
    pub minimum_age: u64,
    /// Where the browser returns.
    pub return_url: String,
    /// The value of the query parameter `state` on the browser's return: random.
    pub state: String,
    /// Until when the result is needed.
    pub expires_at: UnixMillis,
}

/// A started check.
#[derive(Clone)]
pub struct BegunAgeCheck {
    /// The URL for the browser.
    pub url: String,
    /// The adapter's state, needed for the result.
    pub pending: PendingAgeCheck,
}

/// An adapter's state of a check until its result, in a form of its own. It contains secrets: `Debug` hides it.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct PendingAgeCheck(pub String);

usher_protocol::debug_shows!(PendingAgeCheck(..));

/// The state of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgeCheckResult {
    /// The user is old enough.
    Passed,
    /// The user is not, or cannot prove it.
    Failed {
        /// The reason, for the app; contains nothing about the user.
        reason: &'static str,
    },
    /// The user has cancelled it, and may start again.
    Cancelled,
    /// In progress.
    Pending,
}

/// Why there is no result. Contains nothing that the provider sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgeVerifierError {
    /// It cannot be reached, or does not respond in time.
    #[error("the age verifier cannot be reached: {0}")]
    Unreachable(String),
    /// Its response violates the protocol.
    #[error("the age verifier's response is invalid: {0}")]
    Invalid(String),
    /// The browser's return does not match the check.
    #[error("the browser has brought something else: {0}")]
    Mismatch(&'static str),
}
