use std::collections::HashMap;

use usher_protocol::message::PaymentHash;

use usher_engine::ports::{BookedPayment, PaymentFilter, PaymentRecord, PaymentRecordStatus};
use usher_engine::{StreamId, UnixMillis};

/// The books.
#[derive(Default)]
pub(super) struct PaymentRecords(HashMap<StreamId, BookedPayment>);

impl PaymentRecords {
    pub(super) fn put(&mut self, stream_id: StreamId, record: PaymentRecord, at: UnixMillis) {
        let new = || BookedPayment { stream_id, created_at: at, changed_at: at, record: record.clone() };
        let booked = self.0.entry(stream_id).or_insert_with(new);
        let changes = |of: &PaymentRecord| (of.status, of.settled, of.fee, of.payment_hash);
        if changes(&booked.record) != changes(&record) {
            booked.changed_at = at;
            let PaymentRecord { status, settled, fee, payment_hash, .. } = record;
            booked.record = PaymentRecord { status, settled, fee, payment_hash, ..booked.record.clone() };
        }
    }

    pub(super) fn list(&self, filter: PaymentFilter, after: Option<StreamId>, limit: usize) -> Vec<BookedPayment> {
        let place = |payment: &BookedPayment| (payment.created_at, payment.stream_id);
        let start = after.map(|id| self.0.get(&id).map_or((None, id), |payment| (Some(payment.created_at), id)));
        let mut found: Vec<_> = self
            .0
            .values()
            .filter(|payment| start.is_none_or(|start| (Some(payment.created_at), payment.stream_id) > start))
            .filter(|payment| filter.from.is_none_or(|from| payment.created_at >= from))
            .filter(|payment| filter.to.is_none_or(|to| payment.created_at < to))
            .filter(|payment| filter.status.is_none_or(|status| payment.record.status == status))
            .cloned()
            .collect();
        found.sort_unstable_by_key(place);
        found.truncate(limit);
        found
    }

    pub(super) fn find(&self, id: StreamId) -> Option<BookedPayment> {
        self.0.get(&id).cloned()
    }

    pub(super) fn refunded(&self, payment: StreamId) -> u64 {
        let refunds = self.0.values().map(|booked| &booked.record).filter(|record| record.refund_of == Some(payment));
        refunds.filter(|refund| refund.status != PaymentRecordStatus::NotPaid).map(|refund| refund.amount).sum()
    }

    pub(super) fn is_paid(&self, hash: PaymentHash) -> bool {
        let mut records = self.0.values().map(|booked| &booked.record);
        records.any(|record| record.payment_hash == Some(hash) && record.status == PaymentRecordStatus::Paid)
    }

    pub(super) fn forget(&mut self, before: UnixMillis, limit: usize) -> usize {
        let closed = self.0.values().filter(|payment| payment.record.status != PaymentRecordStatus::Open);
        let old = super::oldest(closed.map(|payment| (payment.changed_at, payment.stream_id)), before, limit);
        old.iter().filter(|id| self.0.remove(id).is_some()).count()
    }
}
