//! The age verifier port: an external service that verifies ages instead of the operator's staff.

use std::fmt;

use async_trait::async_trait;

use crate::UnixMillis;

/// A provider that verifies ages, on pages of its own to which the user's browser goes and from which it returns.
///
/// Nothing about the user leaves the adapter but pass or fail. Each call returns within a bound of the adapter's.
#[async_trait]
pub trait AgeVerifier: Send + Sync {
    /// The provider's name for users: its host.
    fn name(&self) -> &str;

    /// Whether the provider responds and can be used as configured, for the operator. Begins no check.
    async fn probe(&self) -> Result<(), AgeVerifierError>;

    /// Begins a check.
    async fn begin(&self, check: &NewAgeCheck) -> Result<BegunAgeCheck, AgeVerifierError>;

    /// The result of a check. `returned` is the query with which the browser has returned, if it has just returned.
    async fn result(
        &self,
        pending: &PendingAgeCheck,
        returned: Option<&str>,
    ) -> Result<AgeCheckResult, AgeVerifierError>;

    /// Whether the result can be asked for repeatedly; if not, only once, with what the browser brings back.
    fn can_be_polled(&self) -> bool;
}

/// A check to be begun.
#[derive(Clone)]
pub struct NewAgeCheck {
    /// In years.
    pub minimum_age: u64,
    /// Where the browser returns to.
    pub return_url: String,
    /// What the browser brings back in the query parameter `state`: random.
    pub state: String,
    /// Until when the result is of use.
    pub expires_at: UnixMillis,
}

/// A check that has begun.
#[derive(Clone)]
pub struct BegunAgeCheck {
    /// Where the browser goes.
    pub url: String,
    /// What the adapter needs for the result.
    pub pending: PendingAgeCheck,
}

/// What an adapter keeps of a check until its result; only it knows the form. It holds secrets: `Debug` hides it.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct PendingAgeCheck(pub String);

impl fmt::Debug for PendingAgeCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingAgeCheck(…)")
    }
}

/// How a check stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgeCheckResult {
    /// The user is old enough.
    Passed,
    /// The user is not, or cannot show it.
    Failed {
        /// Why, for the app, in our words: it says nothing about the user.
        reason: &'static str,
    },
    /// The user has broken it off; it may be begun again.
    Cancelled,
    /// It is under way.
    Pending,
}

/// Why there is no result. The texts quote nothing that the provider sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgeVerifierError {
    /// It cannot be reached, or does not respond in time.
    #[error("the age verifier cannot be reached: {0}")]
    Unreachable(String),
    /// Its response is not what the protocol says.
    #[error("the age verifier's response is invalid: {0}")]
    Invalid(String),
    /// What the browser has brought does not fit the check.
    #[error("the browser has brought something else: {0}")]
    Mismatch(&'static str),
}
