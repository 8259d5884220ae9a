//! Scopes: what a key may do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a key may do. Each allows exactly what it says: none includes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub enum Scope {
    /// Log users in, and learn who they are.
    #[serde(rename = "login")]
    Login,
    /// Ask for payments, and see the service's payments and Lightning backend.
    #[serde(rename = "payments:receive")]
    PaymentsReceive,
    /// Send money: pay, refund, withdraw tickets, and manage the Lightning node's channels.
    #[serde(rename = "payments:send")]
    PaymentsSend,
    /// Ask for recurring payments, and manage them.
    #[serde(rename = "subscriptions")]
    Subscriptions,
    /// Mint, send, request and redeem tickets.
    #[serde(rename = "tickets")]
    Tickets,
    /// Verify ages.
    #[serde(rename = "verification")]
    Verification,
    /// Read events.
    #[serde(rename = "events:read")]
    EventsRead,
    /// Approve payments by the service that others have asked for. Only the token can have a key with it.
    #[serde(rename = "approvals")]
    Approvals,
    /// Manage the service's relays and profile.
    #[serde(rename = "relays")]
    Relays,
    /// Operate the service: keys, erasure of users, OpenID Connect, metrics, and the API's description.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 10] = [
        Self::Login,
        Self::PaymentsReceive,
        Self::PaymentsSend,
        Self::Subscriptions,
        Self::Tickets,
        Self::Verification,
        Self::EventsRead,
        Self::Approvals,
        Self::Relays,
        Self::Admin,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::PaymentsReceive => "payments:receive",
            Self::PaymentsSend => "payments:send",
            Self::Subscriptions => "subscriptions",
            Self::Tickets => "tickets",
            Self::Verification => "verification",
            Self::EventsRead => "events:read",
            Self::Approvals => "approvals",
            Self::Relays => "relays",
            Self::Admin => "admin",
        }
    }

    /// The scope with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}
