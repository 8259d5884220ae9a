//! The roles of operators.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Scope;

usher_protocol::words! {
    /// What an operator may do in the console.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// Sees everything, and changes nothing.
        Viewer = "viewer",
        /// Helps users: payment links, refunds, age checks, subscriptions, erasure, deliveries of webhooks.
        Support = "support",
        /// Does everything but approve payments, for which `wallet.approvers` names people.
        Admin = "admin",
    }
}

impl Role {
    /// The scopes of a session with this role. Which endpoints a role may use depends on the role alone.
    pub(super) fn scopes(self) -> Vec<Scope> {
        match self {
            Self::Viewer => vec![Scope::EventsRead],
            Self::Support => vec![
                Scope::EventsRead,
                Scope::PaymentsReceive,
                Scope::PaymentsSend,
                Scope::Subscriptions,
                Scope::Verification,
            ],
            Self::Admin => Scope::ALL.into_iter().filter(|scope| *scope != Scope::Approvals).collect(),
        }
    }
}
