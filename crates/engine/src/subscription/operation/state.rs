//! How a subscription stands.

use serde::{Deserialize, Serialize};

/// The state of a subscription (docs/subscriptions.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionState {
    /// Payments may be requested.
    Active,
    /// Closed by the user.
    ClosedByUser,
    /// Closed by the operator.
    ClosedByProvider,
    /// All agreed payments have been made.
    Completed,
    /// No further payment falls due.
    Ended,
}

impl SubscriptionState {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Active, Self::ClosedByUser, Self::ClosedByProvider, Self::Completed, Self::Ended];

    /// The name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::ClosedByUser => "closed_by_user",
            Self::ClosedByProvider => "closed_by_provider",
            Self::Completed => "completed",
            Self::Ended => "ended",
        }
    }
}
