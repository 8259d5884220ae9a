//! The books: payments that the service received or made, kept longer than their operations.

use usher_protocol::bolt11::Invoice;

use super::Payments;
use crate::ports::{BookedPayment, PaymentFilter, PaymentSearch, StoreError};
use crate::{Page, Requester, StreamId};

impl Payments {
    /// Up to `limit` payments in the books after `after`.
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

    /// Payments in the books before `after`, the last first, at most `limit`. A page may be short.
    pub async fn newest(
        &self,
        requester: &Requester,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Page<BookedPayment>, StoreError> {
        let all = PaymentSearch::All;
        let (items, next) = self.core.store.payments_found(requester, &all, filter, |_| true, after, limit).await?;
        Ok(Page { items, next })
    }

    /// Payments in the books before `after`, the last first, at most `limit`: those with this stream, payment hash,
    /// invoice or reference, and the refunds of that stream, or else those with the text in their description,
    /// regardless of case. A page may be short.
    pub async fn search(
        &self,
        requester: &Requester,
        text: &str,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Page<BookedPayment>, StoreError> {
        let (store, text) = (&self.core.store, text.trim());
        let keys = keys(text);
        let (items, next) = if !store.newest_payments(&keys, PaymentFilter::default(), None, 1).await?.is_empty() {
            store.payments_found(requester, &keys, filter, |_| true, after, limit).await?
        } else if text.chars().count() < Self::MIN_SEARCHED_CHARS {
            (Vec::new(), None)
        } else {
            let part = text.to_lowercase();
            let is_wanted = |payment: &BookedPayment| payment.record.description.to_lowercase().contains(&part);
            store.payments_found(requester, &PaymentSearch::All, filter, is_wanted, after, limit).await?
        };
        Ok(Page { items, next })
    }

    /// Descriptions are searched for a text of at least so many characters.
    pub const MIN_SEARCHED_CHARS: usize = 3;

    /// A payment in the books.
    pub async fn booked(&self, requester: &Requester, id: StreamId) -> Result<Option<BookedPayment>, StoreError> {
        self.core.store.payment_record(requester, id).await
    }
}

/// What a payment with this text may be found by.
fn keys(text: &str) -> PaymentSearch {
    let lower = text.to_lowercase();
    let invoice = lower
        .strip_prefix("lightning:")
        .unwrap_or(&lower)
        .parse::<Invoice>()
        .ok()
        .map(|invoice| invoice.payment_hash());
    PaymentSearch::Keys {
        stream: text.parse().ok(),
        hash: invoice.or_else(|| serde_json::from_value(lower.into()).ok()),
        reference: text.to_owned(),
    }
}
