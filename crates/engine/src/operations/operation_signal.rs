//! Signals between operations: between a subscription and its payments, and between a reusable login and the logins at it.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::Preimage;
use usher_protocol::subkey::SubkeyProof;

use crate::event::NewEvent;
use crate::payment::operation::Charge;
use crate::payment::price::Price;

/// A charge has ended, or was paid after it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The charge.
    pub charge: Charge,
    /// How it ended.
    pub end: ChargeEnd,
    /// What it came to, if it was not agreed on in millisats.
    pub price: Option<Price>,
}

/// How a charge ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChargeEnd {
    /// It was paid; with the preimage, if it is known.
    Paid(Option<Preimage>),
    /// It was not paid.
    Failed {
        /// The payment's status.
        status: String,
        /// The reason.
        reason: Option<String>,
        /// Whether it may have been paid: then the user is not asked for the same date again.
        may_be_paid: bool,
    },
}

/// A payment requested by the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedPayment {
    /// Our id of its request.
    pub request_id: String,
    /// Unix seconds until which it can be paid.
    pub until: u64,
}

/// A signal to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The operator requests a payment.
    PaymentRequested(RequestedPayment),
    /// A payment requested by the operator was made.
    Paid {
        /// Our id of its request.
        request_id: String,
    },
    /// A payment requested by the operator has ended early: it was rejected, or there was no invoice.
    NotPaid {
        /// Our id of its request.
        request_id: String,
    },
    /// A charge has ended.
    Charged(Charged),
    /// A device of the user has proven itself to a payment: it may close the subscription as well.
    DeviceProven {
        /// Its key.
        key: PublicKey,
        /// Its proof, which the subscription checks itself.
        proof: SubkeyProof,
    },
    /// The operator closes it.
    Close,
    /// A later operation of the same user has taken its place.
    Superseded,
    /// To a reusable login: this has happened in a login at it, and is an event of its stream.
    LoginEvent(NewEvent),
    /// To a payment link: a payment at it was made, and this is the event of that.
    LinkPaid(NewEvent),
    /// To a refund: the payer has named this invoice.
    RefundTo(Invoice),
    /// To a payment: it is no longer owed.
    CancelPayment,
}
