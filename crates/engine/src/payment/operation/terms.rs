//! The terms of a payment that is requested.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;

use super::link::PaymentOfLink;
use crate::UnixMillis;

/// The terms of a payment that is requested.
#[derive(Clone, Debug)]
pub struct PaymentTerms {
    /// Whose wallet is asked; `None`: nobody's, and anybody may pay the invoice.
    pub payer: Option<Payer>,
    /// Our random id of the request.
    pub request_id: String,
    /// The app's own reference, repeated in events.
    pub reference: Option<String>,
    /// What it is for.
    pub description: String,
    /// The subscription it belongs to.
    pub subscription: Option<SubscriptionLink>,
    /// The payment link at which the payer has asked for it.
    pub of_link: Option<PaymentOfLink>,
    /// Until when it can be paid.
    pub expires_at: UnixMillis,
}

/// A user whose wallet is asked to pay.
#[derive(Clone, Debug)]
pub struct Payer {
    /// The user's key.
    pub main_key: PublicKey,
    /// Keys that may reply for it without a proof.
    pub subkeys: Vec<PublicKey>,
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
