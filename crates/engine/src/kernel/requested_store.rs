//! The store, restricted to what a [`Requester`] may see.

use std::ops::Deref;
use std::sync::Arc;

use super::requester::Requester;
use crate::StreamId;
use crate::ports::{BookedPayment, CorrelationKey, PaymentFilter, Store, StoreError, StoredOperation};

/// The store. Each of its own methods replaces one of the [`Store`]'s that returns data of an operation, and hides what
/// its requester may not see. (Events are read with a [`ShownStream`](super::event_feed::ShownStream).)
#[derive(Clone)]
pub(crate) struct RequestedStore(Arc<dyn Store>);

impl RequestedStore {
    pub(crate) const fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    pub(crate) async fn operation(
        &self,
        requester: &Requester,
        id: StreamId,
    ) -> Result<Option<StoredOperation>, StoreError> {
        Ok(self.0.operation(id).await?.filter(|stored| requester.sees(stored.origin)))
    }

    pub(crate) async fn operation_with_key(
        &self,
        requester: &Requester,
        key: CorrelationKey,
    ) -> Result<Option<(StreamId, StoredOperation)>, StoreError> {
        Ok(self.0.operation_with_key(key).await?.filter(|(_, stored)| requester.sees(stored.origin)))
    }

    /// The visible ones among up to `limit` unfinished subscriptions after `after`; and the `after` of the next page,
    /// if there may be more.
    pub(crate) async fn subscriptions(
        &self,
        requester: &Requester,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<(Vec<(StreamId, StoredOperation)>, Option<StreamId>), StoreError> {
        let mut found = self.0.subscriptions(after, limit).await?;
        let next = found.last().map(|(id, _)| *id).filter(|_| found.len() == limit);
        found.retain(|(_, stored)| requester.sees(stored.origin));
        Ok((found, next))
    }

    /// The visible ones among up to `limit` payments in the books after `after`; and the `after` of the next page, if
    /// there may be more. The books outlast operations, and the origin of a removed one is unknown.
    pub(crate) async fn payment_records(
        &self,
        requester: &Requester,
        filter: PaymentFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<(Vec<BookedPayment>, Option<StreamId>), StoreError> {
        let found = self.0.payment_records(filter, after, limit).await?;
        let next = found.last().map(|payment| payment.stream_id).filter(|_| found.len() == limit);
        let mut shown = Vec::with_capacity(found.len());
        for payment in found {
            if self.shows(requester, payment.stream_id).await? {
                shown.push(payment);
            }
        }
        Ok((shown, next))
    }

    pub(crate) async fn payment_record(
        &self,
        requester: &Requester,
        id: StreamId,
    ) -> Result<Option<BookedPayment>, StoreError> {
        if self.shows(requester, id).await? { self.0.payment_record(id).await } else { Ok(None) }
    }

    /// Whether the requester may see this stream. A missing or unreadable one has no origin.
    pub(crate) async fn shows(&self, requester: &Requester, id: StreamId) -> Result<bool, StoreError> {
        if requester.sees(None) {
            return Ok(true);
        }
        match self.operation(requester, id).await {
            Ok(stored) => Ok(stored.is_some()),
            Err(StoreError::Unreadable(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }
}

impl Deref for RequestedStore {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
