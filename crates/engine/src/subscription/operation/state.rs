//! How a subscription stands.

use serde::{Deserialize, Serialize};

usher_protocol::words! {
    /// The state of a subscription (docs/subscriptions.md).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SubscriptionState {
        /// Payments may be requested.
        Active = "active",
        /// Closed by the user.
        ClosedByUser = "closed_by_user",
        /// Closed by the operator.
        ClosedByProvider = "closed_by_provider",
        /// All agreed payments have been made.
        Completed = "completed",
        /// No further payment falls due.
        Ended = "ended",
    }
}
