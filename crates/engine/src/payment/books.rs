//! The books: payments that the service received or made, kept longer than their operations.

use super::Payments;
use crate::ports::{BookedPayment, PaymentFilter, StoreError};
use crate::{Page, Requester, StreamId};

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
    ) -> Result<Page<BookedPayment>, StoreError> {
        let (items, next) = self.core.store.payment_records(requester, filter, after, limit).await?;
        Ok(Page { items, next })
    }

    /// A payment in the books.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn booked(&self, requester: &Requester, id: StreamId) -> Result<Option<BookedPayment>, StoreError> {
        self.core.store.payment_record(requester, id).await
    }
}
