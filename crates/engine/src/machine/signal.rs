//! Signals between operations: between a subscription and its payments, and between a reusable login and the logins at it.

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::Preimage;
use usher_protocol::subkey::SubkeyProof;

use crate::StreamId;
use crate::event::NewEvent;
use crate::price::Price;

/// The due date of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The due date's number, from 1.
    pub number: u32,
    /// The due date in Unix seconds.
    pub due: u64,
    /// The number of earlier attempts.
    pub attempt: u32,
}

/// A charge has ended, or was paid after its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The charge.
    pub charge: Charge,
    /// The outcome.
    pub end: ChargeEnd,
    /// Its price, if not agreed in millisats.
    pub price: Option<Price>,
}

/// The outcome of a charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChargeEnd {
    /// Paid; with the preimage, if known.
    Paid(Option<Preimage>),
    /// It was not paid.
    Failed {
        /// The payment's status.
        status: String,
        /// The reason.
        reason: Option<String>,
        /// Whether it may have been paid: the same date is then not charged again.
        may_be_paid: bool,
    },
}

/// A further invoice of a payment was paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewalPaid {
    /// The invoice.
    pub invoice: Invoice,
    /// Its preimage, if known.
    pub preimage: Option<Preimage>,
    /// The amount of the invoice, in millisats.
    pub amount: u64,
    /// The price from which the amount was converted.
    pub price: Option<Price>,
    /// The received millisats.
    pub amount_received: u64,
    /// The liquidity provider's deduction, in millisats.
    pub skimmed_fee: u64,
}

/// A payment requested by the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedPayment {
    /// The random id of its request.
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
        /// The random id of its request.
        request_id: String,
    },
    /// A payment requested by the operator ended early: it was rejected, or there was no invoice.
    NotPaid {
        /// The random id of its request.
        request_id: String,
    },
    /// A charge has ended.
    Charged(Charged),
    /// A device of the user has proven itself to a payment: it may also close the subscription.
    DeviceProven {
        /// Its key.
        key: PublicKey,
        /// Its proof, which the subscription verifies itself.
        proof: SubkeyProof,
    },
    /// The operator closes it.
    Close,
    /// A later operation of the same user has replaced it.
    Superseded,
    /// To a reusable login: an event of a login at it, for its stream.
    LoginEvent(NewEvent),
    /// To a payment link: the event of a payment at it.
    LinkPaid(NewEvent),
    /// To a refund: the invoice named by the payer.
    RefundTo(Invoice),
    /// To a payment: it is no longer owed.
    CancelPayment,
    /// To a payment: its further invoice with this stream was paid; `None`: it no longer can be.
    Renewal(StreamId, Option<Box<RenewalPaid>>),
}
