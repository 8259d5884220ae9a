//! The books: a row for each payment that the service received or made, kept longer than its operation.

use usher_protocol::message::PaymentHash;

use crate::{StreamId, UnixMillis};

/// A payment as known by its operation; updated with each of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentRecord {
    /// The kind of payment.
    pub kind: PaymentKind,
    /// Its status.
    pub status: PaymentRecordStatus,
    /// What was requested, in millisats.
    pub amount: u64,
    /// The received amount, or the paid amount without the fee, in millisats.
    pub settled: Option<u64>,
    /// The liquidity provider's deduction from a received payment, or the routing or miner fee, in millisats.
    pub fee: Option<u64>,
    /// The description; for an on-chain payment, the address.
    pub description: String,
    /// The app's own reference.
    pub reference: Option<String>,
    /// The payment hash of its invoice, once there is one; for an on-chain payment, its transaction id in display
    /// order.
    pub payment_hash: Option<PaymentHash>,
    /// Its price as JSON, if it was not requested in millisats.
    pub price: Option<String>,
    /// The payment that it refunds.
    pub refund_of: Option<StreamId>,
}

/// A payment in the books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookedPayment {
    /// Its stream.
    pub stream_id: StreamId,
    /// When it was requested.
    pub created_at: UnixMillis,
    /// When the record was last changed; for a settled payment, when it was settled.
    pub changed_at: UnixMillis,
    /// The payment.
    pub record: PaymentRecord,
}

/// A filter for payments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaymentFilter {
    /// Requested at this time or later.
    pub from: Option<UnixMillis>,
    /// Requested before this time.
    pub to: Option<UnixMillis>,
    /// With this status.
    pub status: Option<PaymentRecordStatus>,
    /// To the service (true), or by it.
    pub is_incoming: Option<bool>,
}

impl PaymentFilter {
    /// Whether a payment has this status and direction.
    pub fn fits(&self, payment: &PaymentRecord) -> bool {
        self.status.is_none_or(|status| payment.status == status)
            && self.is_incoming.is_none_or(|is_incoming| payment.kind.is_incoming() == is_incoming)
    }
}

/// What payments are searched for by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentSearch {
    /// Any of these, exactly.
    Keys {
        /// Its stream, or that of the payment that it refunds.
        stream: Option<StreamId>,
        /// The payment hash of its invoice, or the id of its transaction.
        hash: Option<PaymentHash>,
        /// The app's own reference.
        reference: String,
    },
    /// All payments.
    All,
}

/// When a payment was requested, and its stream.
pub type PaymentPosition = (UnixMillis, StreamId);

usher_protocol::words! {
    /// A kind of payment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PaymentKind {
        /// To the service, requested by the app.
        Requested = "payment",
        /// To the service, for a due date of a subscription.
        Charge = "charge",
        /// By the service's Lightning backend.
        Outgoing = "invoice",
        /// By the service's Lightning backend, to the payer of an earlier payment.
        Refund = "refund",
        /// By the service's Lightning node, on chain.
        OnChain = "on_chain",
    }
}

usher_protocol::words! {
    /// The status of a payment in the books.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PaymentRecordStatus {
        /// It may be paid.
        Open = "open",
        /// It was paid.
        Paid = "paid",
        /// Ended without payment. If money arrives late, it becomes `paid`.
        NotPaid = "not_paid",
        /// Ended with an unknown outcome.
        Unknown = "unknown",
    }
}

impl PaymentKind {
    /// Whether the service receives it.
    pub const fn is_incoming(self) -> bool {
        match self {
            Self::Requested | Self::Charge => true,
            Self::Outgoing | Self::Refund | Self::OnChain => false,
        }
    }
}
