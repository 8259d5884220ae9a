//! Scopes: what a key may do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

usher_protocol::words! {
    /// What a key may do. Each allows exactly what it says: none includes another.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
    pub enum Scope {
        /// Log users in, and learn who they are.
        #[serde(rename = "login")]
        Login = "login",
        /// Ask for payments, and see the service's payments and Lightning backend.
        #[serde(rename = "payments:receive")]
        PaymentsReceive = "payments:receive",
        /// Send money: pay, refund, withdraw tickets, and manage the Lightning node's channels.
        #[serde(rename = "payments:send")]
        PaymentsSend = "payments:send",
        /// Ask for recurring payments, and manage them.
        #[serde(rename = "subscriptions")]
        Subscriptions = "subscriptions",
        /// Mint, send, request and redeem tickets.
        #[serde(rename = "tickets")]
        Tickets = "tickets",
        /// Verify ages.
        #[serde(rename = "verification")]
        Verification = "verification",
        /// Read events.
        #[serde(rename = "events:read")]
        EventsRead = "events:read",
        /// Approve payments by the service that others have asked for. Only the token can have a key with it.
        #[serde(rename = "approvals")]
        Approvals = "approvals",
        /// Manage the service's relays and profile.
        #[serde(rename = "relays")]
        Relays = "relays",
        /// Operate the service: keys, erasure of users, OpenID Connect, metrics, and the API's description.
        #[serde(rename = "admin")]
        Admin = "admin",
    }
}
