//! What the books say about payments: a row for each that the service received or made, which is kept longer than its operation.

use usher_protocol::message::PaymentHash;

use crate::{StreamId, UnixMillis};

/// A payment as its operation knows it; stored with each of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentRecord {
    /// Which kind of payment it is.
    pub kind: PaymentKind,
    /// How it stands.
    pub status: PaymentRecordStatus,
    /// What was requested, in millisats.
    pub amount: u64,
    /// What has arrived, or was paid without the fee, in millisats.
    pub settled: Option<u64>,
    /// What a liquidity provider kept of a payment that arrived, or what routing, or the miners, cost, in millisats.
    pub fee: Option<u64>,
    /// What it is for; of a payment on chain, the address.
    pub description: String,
    /// The app's own reference.
    pub reference: Option<String>,
    /// The payment hash of its invoice, once there is one; of a payment on chain, its transaction's id as it is shown.
    pub payment_hash: Option<PaymentHash>,
    /// Its price as JSON, if it was not requested in millisats.
    pub price: Option<String>,
    /// The payment that it pays back.
    pub refund_of: Option<StreamId>,
}

/// A payment in the books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookedPayment {
    /// Its stream.
    pub stream_id: StreamId,
    /// When it was requested.
    pub created_at: UnixMillis,
    /// When the record was last changed: of a payment that is settled, when it was.
    pub changed_at: UnixMillis,
    /// The payment.
    pub record: PaymentRecord,
}

/// Which payments are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaymentFilter {
    /// Requested at this time or later.
    pub from: Option<UnixMillis>,
    /// Requested before this time.
    pub to: Option<UnixMillis>,
    /// How they stand.
    pub status: Option<PaymentRecordStatus>,
}

/// Defines an enum whose variants are stored and shown as words.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal;)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $variant_doc])+ $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The one with this word.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }
    };
}

words! {
    /// A kind of payment.
    PaymentKind {
        /// To the service, as the app requested it.
        Requested = "payment";
        /// To the service, for a due date of a subscription.
        Charge = "charge";
        /// By the service's Lightning backend.
        Outgoing = "invoice";
        /// By the service's Lightning backend, to the payer of an earlier payment.
        Refund = "refund";
        /// By the service's Lightning node, on chain.
        OnChain = "on_chain";
    }
}

words! {
    /// How a payment in the books stands.
    PaymentRecordStatus {
        /// It may be paid.
        Open = "open";
        /// It was paid.
        Paid = "paid";
        /// It has ended without having been paid. Money may still arrive for a while: then it becomes `paid`.
        NotPaid = "not_paid";
        /// It has ended, and nobody knows whether it was paid.
        Unknown = "unknown";
    }
}

impl PaymentKind {
    /// Whether the service is the one who receives it.
    pub const fn is_incoming(self) -> bool {
        match self {
            Self::Requested | Self::Charge => true,
            Self::Outgoing | Self::Refund | Self::OnChain => false,
        }
    }
}
