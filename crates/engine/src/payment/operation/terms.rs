//! The terms of a requested payment.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;

use crate::machine::Charge;
use crate::{StreamId, UnixMillis};

/// The terms of a requested payment.
#[derive(Clone, Debug)]
pub struct PaymentTerms {
    /// The payer whose wallet gets the request. `None`: no wallet gets it, and anybody may pay the invoice.
    pub payer: Option<Payer>,
    /// The random id of the request.
    pub request_id: String,
    /// The app's own reference, repeated in events.
    pub reference: Option<String>,
    /// What the payment is for.
    pub description: String,
    /// The subscription it belongs to.
    pub subscription: Option<SubscriptionLink>,
    /// The payment link that the payer used.
    pub of_link: Option<PaymentOfLink>,
    /// Until when it can be paid.
    pub expires_at: UnixMillis,
}

/// A user whose wallet gets the payment request.
#[derive(Clone, Debug)]
pub struct Payer {
    /// The user's key.
    pub main_key: PublicKey,
    /// Keys that may reply for the user without a proof of delegation.
    pub subkeys: Vec<PublicKey>,
}

/// The subscription of a payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionLink {
    /// The subscription.
    pub subscription_id: String,
    /// The due date, for an automatic charge.
    pub charge: Option<Charge>,
}

/// The link of a payment requested at a payment link; or the payment for which it is a further invoice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentOfLink {
    /// The stream of the link, or of the other payment.
    pub link: StreamId,
    /// The payment's own stream.
    pub payment: StreamId,
    /// The payer's comment (LUD-12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The metadata whose hash is in the invoice (LUD-06); `None`: the invoice has the description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// The request id of the other payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renews: Option<String>,
}

/// A further invoice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Renewal {
    /// Its stream.
    pub(super) payment: StreamId,
    /// Until when it may be paid, as expected.
    pub(super) until: UnixMillis,
    pub(super) ended: bool,
}
