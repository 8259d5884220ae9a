//! The store, restricted to what a [`Requester`] may see.

use std::ops::Deref;
use std::sync::Arc;

use super::requester::Requester;
use crate::ports::{
    AuditReader, BookedPayment, CorrelationKey, EndedLogin, LoginFilter, LoginPosition, LoginRecordStatus,
    PaymentFilter, PaymentSearch, Store, StoreError, StoredOperation,
};
use crate::{Order, StreamId};

/// Most records of logins read for a page of those with a status, or of a requester.
const LOGINS_READ: usize = 5_000;

/// Records of logins searched at once, and so often at most, for a page of those of one subject: the database skips others.
const LOGINS_SEARCHED: usize = 50_000;
const LOGIN_SEARCHES: usize = 20;

/// Payments read at once, and at most, for a page of a search: in batches, so that no read takes long.
const PAYMENTS_READ: usize = 1_000;
const PAYMENTS_SEARCHED: usize = 20_000;

/// The store. Each of its own methods replaces one of the [`Store`]'s that returns data of an operation, and hides what
/// its requester may not see. (Events are read with a [`ShownStream`](super::event_feed::ShownStream).)
#[derive(Clone)]
pub(crate) struct RequestedStore(Arc<dyn Store>);

impl RequestedStore {
    pub(crate) const fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    pub(crate) fn audit_log(&self) -> &dyn AuditReader {
        &*self.0
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

    /// The visible ones among up to `limit` unfinished subscriptions in this order after `after`; and the `after` of the next page,
    /// if there may be more.
    pub(crate) async fn subscriptions(
        &self,
        requester: &Requester,
        order: Order,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<(Vec<(StreamId, StoredOperation)>, Option<StreamId>), StoreError> {
        let mut found = self.0.subscriptions(order, after, limit).await?;
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

    /// The visible and wanted ones that fit the filter among a bounded number of these payments before `after`, the last
    /// first, at most `limit`; and the `after` of the next page, if there may be more.
    pub(crate) async fn payments_found(
        &self,
        requester: &Requester,
        search: &PaymentSearch,
        filter: PaymentFilter,
        is_wanted: impl Fn(&BookedPayment) -> bool,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<(Vec<BookedPayment>, Option<StreamId>), StoreError> {
        let mut found = Vec::new();
        let mut position = match after {
            None => None,
            Some(after) => match self.0.payment_record(after).await? {
                Some(payment) => Some((payment.created_at, after)),
                // It has left the books since, and so have those before it.
                None => return Ok((found, None)),
            },
        };
        // Often each fits.
        let mut size = limit.min(PAYMENTS_READ);
        for _ in 0..PAYMENTS_SEARCHED / PAYMENTS_READ {
            let read = self.0.newest_payments(search, filter, position, size).await?;
            let is_last = read.len() < size;
            size = PAYMENTS_READ;
            for payment in read {
                position = Some((payment.created_at, payment.stream_id));
                if filter.fits(&payment.record)
                    && is_wanted(&payment)
                    && self.shows(requester, payment.stream_id).await?
                {
                    found.push(payment);
                }
                if found.len() >= limit {
                    return Ok((found, position.map(|(_, stream)| stream)));
                }
            }
            if is_last {
                return Ok((found, None));
            }
        }
        Ok((found, position.map(|(_, stream)| stream)))
    }

    pub(crate) async fn payment_record(
        &self,
        requester: &Requester,
        id: StreamId,
    ) -> Result<Option<BookedPayment>, StoreError> {
        if self.shows(requester, id).await? { self.0.payment_record(id).await } else { Ok(None) }
    }

    /// The visible records of logins with this status, the last first, at most `limit`, among a bounded number after
    /// `after`; and the `after` of the next page, if there may be more.
    pub(crate) async fn login_records(
        &self,
        requester: &Requester,
        filter: LoginFilter,
        status: Option<LoginRecordStatus>,
        after: Option<LoginPosition>,
        limit: usize,
    ) -> Result<(Vec<EndedLogin>, Option<LoginPosition>), StoreError> {
        let selects = status.is_some() || !requester.sees(None);
        let is_wanted = |login: &EndedLogin| {
            requester.sees(login.origin) && status.is_none_or(|status| login.record.status == status)
        };
        let (most, turns) = match filter.of {
            Some(_) => (LOGINS_SEARCHED, LOGIN_SEARCHES),
            None => (if selects { limit.max(LOGINS_READ) } else { limit }, 1),
        };
        let (mut found, mut next) = (Vec::new(), after);
        for _ in 0..turns {
            let page = self.0.login_records(filter, next, most).await?;
            next = page.next;
            found.extend(page.found.into_iter().filter(is_wanted));
            if found.len() > limit {
                found.truncate(limit);
                next = found.last().map(|login| login.position);
            }
            if found.len() == limit || next.is_none() {
                break;
            }
        }
        Ok((found, next))
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
