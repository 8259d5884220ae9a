//! Payment links for the app: listing and closing.

use super::start::{PaymentLinkCreated, PaymentLinks};
use super::{LinkState, LinkTerms, PaymentLink};
use crate::kernel::commit::{Modified, Stored};
use crate::kernel::request_errors::ModifyError;
use crate::ports::{OperationKind, StoreError};
use crate::registry::Operation;
use crate::{Order, Page, Requester, StreamId};

/// A payment link in a list.
#[derive(Clone)]
pub struct ListedLink {
    /// Its stream and its addresses.
    pub link: PaymentLinkCreated,
    /// Its state.
    pub state: LinkState,
    /// Its terms.
    pub terms: LinkTerms,
    /// The number of payments made at it.
    pub payments: u64,
}

/// Why a payment link was not closed.
#[derive(Debug, thiserror::Error)]
pub enum CloseLinkError {
    /// The stream is not that of a payment link, or was removed after its retention.
    #[error("no such payment link")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ModifyError for CloseLinkError {}

impl PaymentLinks {
    /// Up to `limit` payment links after `after`, in this order: open ones, and those with issued invoices that may still be paid. A
    /// short page may have a successor.
    pub async fn list(
        &self,
        requester: &Requester,
        order: Order,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Page<ListedLink>, StoreError> {
        let ids = self.open.page(order, after, limit);
        let next = ids.last().copied().filter(|_| ids.len() == limit);
        let now = self.core.clock.now();
        let mut links = Vec::with_capacity(ids.len());
        // The link of the Lightning address is not the app's.
        for stream_id in ids.into_iter().filter(|id| *id != StreamId::LIGHTNING_ADDRESS) {
            let Some((stored, Operation::PaymentLink(link))) = self.core.readable(requester, stream_id).await? else {
                continue;
            };
            if stored.finished_at.is_none() {
                links.push(ListedLink {
                    link: self.created(stream_id),
                    state: link.state(now),
                    payments: link.payments(),
                    terms: link.terms().clone(),
                });
            }
        }
        Ok(Page { items: links, next })
    }

    /// Closes a payment link, which then issues no more invoices. Closing it again changes nothing.
    pub async fn close(&self, requester: &Requester, stream_id: StreamId) -> Result<(), CloseLinkError> {
        let closed = self.starter.committer.modify(
            Operation::PaymentLink,
            || self.find(requester, stream_id),
            |link, now| {
                let was_open = link.close(now);
                Ok(if was_open { Modified::changed(Vec::new(), ()) } else { Modified::Unchanged(()) })
            },
        );
        closed.await?;
        self.feed.end(stream_id);
        Ok(())
    }

    async fn find(
        &self,
        requester: &Requester,
        stream_id: StreamId,
    ) -> Result<Option<Stored<PaymentLink>>, CloseLinkError> {
        // The link of the Lightning address is open while the configuration enables it.
        if stream_id == StreamId::LIGHTNING_ADDRESS {
            return Err(CloseLinkError::NotFound);
        }
        let stored = self.core.store.operation(requester, stream_id).await?;
        let stored = stored.filter(|stored| stored.kind == OperationKind::PaymentLink);
        let stored = stored.ok_or(CloseLinkError::NotFound)?;
        if stored.finished_at.is_some() {
            return Ok(None);
        }
        match Operation::from_state(&stored.state) {
            Ok(Operation::PaymentLink(link)) => Ok(Some((stream_id, stored.version(), link))),
            Ok(_) | Err(_) => Err(StoreError::Unreadable("a payment link's state").into()),
        }
    }
}
