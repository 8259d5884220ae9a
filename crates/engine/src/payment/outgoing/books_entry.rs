//! The accounting entry of a payment by the service's Lightning backend.

use super::{OutgoingPayment, Phase};
use crate::ports::{PaymentKind, PaymentRecord, PaymentRecordStatus};

impl OutgoingPayment {
    pub(crate) fn books_entry(&self) -> PaymentRecord {
        let amount = self.invoice.amount().unwrap_or_default();
        PaymentRecord {
            kind: PaymentKind::Outgoing,
            status: match self.phase {
                _ if self.paid => PaymentRecordStatus::Paid,
                Phase::Ended { .. } if self.unknown => PaymentRecordStatus::Unknown,
                Phase::Ended { .. } => PaymentRecordStatus::NotPaid,
                Phase::Waiting { .. } | Phase::Sending { .. } | Phase::Checking { .. } => PaymentRecordStatus::Open,
            },
            amount,
            settled: self.paid.then_some(amount),
            fee: self.fees_paid.filter(|_| self.paid),
            description: self.invoice.description().unwrap_or_default().to_owned(),
            reference: self.reference.clone(),
            payment_hash: Some(self.invoice.payment_hash()),
            price: None,
            refund_of: None,
        }
    }
}
