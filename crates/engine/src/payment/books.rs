//! The books: payments that the service received or made, kept longer than their operations.

use super::Payments;
use crate::ports::{BookedPayment, PaymentFilter, StoreError};
use crate::{RequestContext, StreamId};

/// Some payments, in the order in which they were requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentPage {
    /// The payments.
    pub payments: Vec<BookedPayment>,
    /// The `after` of the next page; `None` when there are no more.
    pub next: Option<StreamId>,
}

impl Payments {
    /// Up to `limit` payments in the books after `after`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(
        &self,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<PaymentPage, StoreError> {
        let payments = self.core.store.payment_records(filter, after, limit).await?;
        let next = payments.last().filter(|_| payments.len() == limit).map(|payment| payment.stream_id);
        if !RequestContext::hides_others() {
            return Ok(PaymentPage { payments, next });
        }
        let mut shown = Vec::new();
        for payment in payments {
            // The books outlast operations; nobody knows who started one that is gone.
            let operation = self.core.store.operation(payment.stream_id).await?;
            if !RequestContext::hides(operation.and_then(|operation| operation.origin)) {
                shown.push(payment);
            }
        }
        Ok(PaymentPage { payments: shown, next })
    }

    /// A payment in the books.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn booked(&self, id: StreamId) -> Result<Option<BookedPayment>, StoreError> {
        self.core.store.payment_record(id).await
    }
}
