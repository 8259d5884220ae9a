//! The terms of a payment requested from a user.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;

use crate::UnixMillis;

/// The terms of a payment requested from a user.
#[derive(Clone, Debug)]
pub struct PaymentTerms {
    /// The user's key.
    pub main_key: PublicKey,
    /// Keys that may reply for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// Our random id of the request.
    pub request_id: String,
    /// The app's own reference, repeated in events.
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
    /// The due date, if it is an automatic charge.
    pub charge: Option<Charge>,
}

/// The due date of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The due date's number, from 1.
    pub number: u32,
    /// The due date in Unix seconds.
    pub due: u64,
    /// How many attempts there were before.
    pub attempt: u32,
}
