//! What a user is asked to pay, and what for.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;

use crate::UnixMillis;

/// What a user is asked to pay.
#[derive(Clone, Debug)]
pub struct PaymentTerms {
    /// Who is asked.
    pub main_key: PublicKey,
    /// Keys that may answer for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// Our id of the request: random.
    pub request_id: String,
    /// The caller's own reference, echoed in events.
    pub reference: Option<String>,
    /// What it is for.
    pub description: String,
    /// The subscription it belongs to.
    pub subscription: Option<SubscriptionLink>,
    /// Until when it can be paid.
    pub expires_at: UnixMillis,
}

/// The subscription a payment belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionLink {
    /// The subscription.
    pub subscription_id: String,
    /// Which due date it is for, when the service charges by itself.
    pub charge: Option<Charge>,
}

/// Which due date a charge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The due date's number, from 1.
    pub number: u32,
    /// The due date in Unix seconds.
    pub due: u64,
    /// How often it was tried before.
    pub attempt: u32,
}
