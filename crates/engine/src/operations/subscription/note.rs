//! What a subscription and its payments say to each other.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::message::Preimage;
use usher_protocol::subkey::SubkeyProof;

use crate::operations::payment::Charge;

/// A charge has ended, or was paid after it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    /// Which.
    pub charge: Charge,
    /// How.
    pub end: ChargeEnd,
}

/// How a charge ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChargeEnd {
    /// It was paid; with the preimage, when it is known.
    Paid(Option<Preimage>),
    /// It was not.
    Failed {
        /// The payment's status.
        status: String,
        /// Why.
        reason: Option<String>,
    },
}

/// A payment that the operator asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Our id of its request.
    pub request_id: String,
    /// Unix seconds until which it can be paid.
    pub until: u64,
}

/// What a subscription and its payments say to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The operator asks for a payment.
    Asked(Asked),
    /// A payment that the operator asked for was made.
    Paid {
        /// Our id of its request.
        request_id: String,
    },
    /// A charge has ended.
    Charged(Charged),
    /// A device of the user has proved to a payment that it is one: it may close the subscription, too.
    Device {
        /// Its key.
        key: PublicKey,
        /// Its proof, which the subscription checks itself.
        proof: SubkeyProof,
    },
    /// The operator closes it.
    Close,
    /// To a payment: it is not owed any more.
    Withdraw,
}
