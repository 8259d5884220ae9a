//! The books: payments that the service received or made, kept longer than their operations.

use super::Payments;
use crate::ports::{BookedPayment, PaymentFilter, StoreError};
use crate::{Requester, StreamId};

/// A page of payments, in the order of their requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentPage {
    /// The payments.
    pub payments: Vec<BookedPayment>,
    /// The `after` of the next page; `None` on the last page.
    pub next: Option<StreamId>,
}

impl Payments {
    /// Up to `limit` payments in the books after `after`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(
        &self,
        requester: &Requester,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<PaymentPage, StoreError> {
        let (payments, next) = self.core.store.payment_records(requester, filter, after, limit).await?;
        Ok(PaymentPage { payments, next })
    }

    /// A payment in the books.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn booked(&self, requester: &Requester, id: StreamId) -> Result<Option<BookedPayment>, StoreError> {
        self.core.store.payment_record(requester, id).await
    }
}
