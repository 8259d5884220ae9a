//! Sent tickets that are not redeemed yet: listing and reclaiming.

use std::sync::Arc;

use crate::kernel::commit::{Modified, Stored};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::{StartError, TicketCallError};
use crate::kernel::ticket_metrics::TicketCallKind;
use crate::kernel::ticket_queue::redeem_job;
use crate::machine::{Input, StateMachine as _, StepResult, TicketReply};
use crate::ports::{
    CorrelationKey, MintAuthToken, NewIdempotencyRecord, OperationKind, ReceiveTerms, StoreError, TicketError,
    TokenFault,
};
use crate::registry::Operation;
use crate::ticket::delivery::{DeliveryView, Reclaim, TicketDelivery};
use crate::ticket::tickets::Tickets;
use crate::{Order, Page, Requester, StreamId};

impl Tickets {
    /// Up to `limit` sent tickets not known to be redeemed, after `after`. A short page may have a successor.
    pub async fn outgoing(
        &self,
        requester: &Requester,
        order: Order,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Page<(StreamId, DeliveryView)>, StoreError> {
        let ids = self.open.page(order, after, limit);
        let next = ids.last().copied().filter(|_| ids.len() == limit);
        let mut tickets = Vec::with_capacity(ids.len());
        for stream_id in ids {
            let Some((stored, operation)) = self.core.readable(requester, stream_id).await? else { continue };
            let Operation::TicketDelivery(delivery) = operation else { continue };
            if let Some(delivery) = delivery.view().filter(|_| stored.finished_at.is_none()) {
                tickets.push((stream_id, delivery));
            }
        }
        Ok(Page { items: tickets, next })
    }

    /// Reclaims a sent ticket: redeems it into the service's own balance. Returns the received amount, without the
    /// mint's fee. If the result is unknown, the delivery continues by itself, and the same request gets the result
    /// later. The token of a delivery that ended as spent is redeemed, too, if the mint accepts it.
    ///
    /// # Errors
    /// [`TicketCallError`]; [`TokenFault::AlreadySpent`] when the user has redeemed it.
    pub async fn reclaim(
        &self,
        requester: &Requester,
        stream_id: StreamId,
        auth: Option<MintAuthToken>,
        once: Option<IdempotentRequest<u64>>,
    ) -> Result<u64, TicketCallError> {
        let wallet = self.wallet.as_ref().ok_or(StartError::NoTicketWallet)?;
        let terms = match self.begin(requester, stream_id, auth).await? {
            Ok(terms) => terms,
            Err(amount) => {
                if let Some(once) = &once {
                    self.starter.idempotency.keep(once, &amount).await?;
                }
                return Ok(amount);
            }
        };
        // The reclaim is stored: the operation continues by itself if this process ends here.
        let result = wallet.redeem(redeem_job(stream_id), &terms, requester.origin()).await.map_err(Arc::new);
        self.calls.count(TicketCallKind::Redeem, &result);
        let record = match (&result, &once) {
            (Ok(amount), Some(once)) => Some(once.record(amount, self.core.clock.now())),
            _ => None,
        };
        let stepped = self.finish(requester, stream_id, TicketReply::Redeemed(result.clone()), record).await?;
        if let (false, Ok(amount), Some(once)) = (stepped, &result, &once) {
            self.starter.idempotency.keep(once, amount).await?;
        }
        // Nobody else holds it.
        result.map_err(|failure| Arc::into_inner(failure).unwrap_or(TicketError::TimedOut).into())
    }

    /// Records the start of a reclaim. Returns the request for the ticket wallet, or the amount received before.
    async fn begin(
        &self,
        requester: &Requester,
        stream_id: StreamId,
        auth: Option<MintAuthToken>,
    ) -> Result<Result<ReceiveTerms, u64>, TicketCallError> {
        let begun = self.starter.committer.modify(
            Operation::TicketDelivery,
            || self.find(requester, stream_id),
            |delivery, now| match delivery.reclaim(auth.clone(), now) {
                Reclaim::Begun(effects, terms) => Ok(Modified::changed(effects, Ok(terms))),
                Reclaim::UnderWay(terms) => Ok(Modified::Unchanged(Ok(terms))),
                Reclaim::AfterEnd(terms) if self.core.index.find(CorrelationKey::delivery(&terms.token)).is_none() => {
                    Ok(Modified::Unchanged(Ok(terms)))
                }
                Reclaim::Done(amount) => Ok(Modified::Unchanged(Err(amount))),
                Reclaim::AfterEnd(_) | Reclaim::Gone => Err(TicketError::Token(TokenFault::AlreadySpent).into()),
            },
        );
        begun.await?.ok_or(TicketCallError::NotFound)
    }

    /// Steps the delivery with the ticket wallet's reply, as for the operation's own request. False if unchanged.
    async fn finish(
        &self,
        requester: &Requester,
        stream_id: StreamId,
        reply: TicketReply,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<bool, TicketCallError> {
        let input = Input::Ticket(reply);
        let finished = self.starter.committer.modify(
            Operation::TicketDelivery,
            || self.find(requester, stream_id),
            |delivery, now| match delivery.step(&input, now) {
                StepResult::Stepped(effects) => Ok(Modified::Changed { effects, record: record.clone(), result: true }),
                // It is over, or the operation itself was faster.
                StepResult::Ignored => Ok(Modified::Unchanged(false)),
            },
        );
        finished.await.map(|stepped| stepped.unwrap_or(false))
    }

    async fn find(
        &self,
        requester: &Requester,
        stream_id: StreamId,
    ) -> Result<Option<Stored<TicketDelivery>>, TicketCallError> {
        let stored = self.core.store.operation(requester, stream_id).await?;
        let Some(stored) = stored.filter(|stored| stored.kind == OperationKind::TicketDelivery) else {
            return Ok(None);
        };
        match Operation::from_state(&stored.state) {
            Ok(Operation::TicketDelivery(delivery)) => Ok(Some((stream_id, stored.version(), delivery))),
            Ok(_) | Err(_) => Err(unreadable()),
        }
    }
}

fn unreadable() -> TicketCallError {
    StartError::Store(StoreError::Unreadable("a ticket delivery")).into()
}
