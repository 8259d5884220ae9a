//! The record of a payment in the books.

use usher_protocol::bolt11::Invoice;

use super::{InvoiceSource, Payment, PaymentProgress};
use crate::ports::{PaymentKind, PaymentRecord, PaymentRecordStatus};

impl Payment {
    /// Nothing about somebody else's invoice: the service neither receives nor pays anything.
    pub(super) fn books_entry(&self) -> Option<PaymentRecord> {
        let InvoiceSource::Own { .. } = &self.source else { return None };
        // At a payment link, anybody can request any number of invoices. What pays a further invoice is the other payment's.
        if self.of_link.is_some() && (!self.paid || self.renews()) {
            return None;
        }
        let status = match self.progress() {
            PaymentProgress::Making | PaymentProgress::Asking | PaymentProgress::Closing => PaymentRecordStatus::Open,
            PaymentProgress::Paid => PaymentRecordStatus::Paid,
            PaymentProgress::Ended if self.disputed => PaymentRecordStatus::Unknown,
            PaymentProgress::Ended => PaymentRecordStatus::NotPaid,
        };
        Some(PaymentRecord {
            kind: if self.is_charge() { PaymentKind::Charge } else { PaymentKind::Requested },
            status,
            amount: self.amount,
            settled: self.paid.then(|| self.received.map_or(self.amount, |received| received.amount)),
            fee: self.received.map(|received| received.skimmed_fee).filter(|fee| *fee > 0),
            description: self.description.clone(),
            reference: self.reference.clone(),
            payment_hash: self.invoice().map(Invoice::payment_hash),
            // Numbers and texts always serialise.
            price: self.price.as_ref().and_then(|price| serde_json::to_string(price).ok()),
            refund_of: None,
        })
    }
}
