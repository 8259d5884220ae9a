//! Lists payments waiting for an approval, and decides on them.

use std::sync::Arc;

use usher_protocol::text::{MAX_DESCRIPTION_CHARS, clean};

use super::decision::Decision;
use super::{HeldPayment, UnstartedPayment};
use crate::kernel::commit::{Modified, Stored};
use crate::kernel::request_errors::ModifyError;
use crate::machine::Effect;
use crate::payment::Payments;
use crate::ports::{PaymentKind, StoreError};
use crate::registry::Operation;
use crate::{Origin, PendingAudit, Requester, StreamId, UnixMillis};

/// A payment waiting for an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingPayment {
    /// Its stream.
    pub id: StreamId,
    /// Its kind: [`Outgoing`](PaymentKind::Outgoing), [`Refund`](PaymentKind::Refund) or [`OnChain`](PaymentKind::OnChain).
    pub kind: PaymentKind,
    /// Millisats.
    pub amount: u64,
    /// The largest fee in millisats.
    pub max_fee: u64,
    /// Its purpose.
    pub purpose: PaymentPurpose,
    /// The requester: an API key, or with `None` the configured API token.
    pub requested_by: Option<Origin>,
    /// When it was requested.
    pub requested_at: UnixMillis,
    /// Until when it can be approved.
    pub expires_at: UnixMillis,
}

/// The purpose of a payment by the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentPurpose {
    /// An invoice.
    Invoice {
        /// The payee's description, cleaned; empty if there is none, or only a hash.
        description: String,
        /// The payee's node: its public key, compressed, as 66 hex characters.
        payee: String,
    },
    /// A refund.
    Refund {
        /// The payment that is refunded.
        payment: StreamId,
        /// The description of that payment, cleaned.
        description: String,
    },
    /// An on-chain payment.
    OnChain {
        /// The address.
        address: String,
    },
}

/// Why a decision is refused.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// No payment waits under this id: it does not exist, is decided, or has expired.
    #[error("no payment waits for an approval under this id")]
    NotFound,
    /// The requester of a payment cannot approve it.
    #[error("a payment is approved by somebody else than who asked for it")]
    OwnRequest,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ModifyError for DecideError {}

/// A stored payment, and its requester.
type Undecided = (Operation, Option<Origin>);

impl Payments {
    /// Up to `limit` payments waiting for an approval, after `after`, oldest first; and the `after` of the next page,
    /// if there may be more.
    pub async fn waiting_for_approval(
        &self,
        requester: &Requester,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<(Vec<WaitingPayment>, Option<StreamId>), StoreError> {
        let ids = self.waiting.after(after, limit);
        let next = ids.last().copied().filter(|_| ids.len() == limit);
        let mut waiting = Vec::new();
        for id in ids {
            waiting.extend(self.payment_waiting_for_approval(requester, id).await?);
        }
        Ok((waiting, next))
    }

    /// The payment waiting for an approval under this id, if any.
    pub async fn payment_waiting_for_approval(
        &self,
        requester: &Requester,
        id: StreamId,
    ) -> Result<Option<WaitingPayment>, StoreError> {
        match self.core.readable(&Requester::Service, id).await? {
            Some((stored, Operation::HeldPayment(held))) if stored.finished_at.is_none() => {
                let now = self.core.clock.now();
                let shown = held.waits(now) && requester.sees(stored.origin);
                Ok(shown.then(|| described(id, &held, stored.origin)))
            }
            _ => {
                self.waiting.forget(id);
                Ok(None)
            }
        }
    }

    /// Whether payments above a limit wait for an approval (`wallet.approval_above_millisats`).
    pub fn has_approval_limit(&self) -> bool {
        self.budget.has_approval_limit()
    }

    /// The number of payments waiting for an approval.
    pub fn waiting_for_approval_count(&self) -> usize {
        self.waiting.count()
    }

    /// Approves or declines a waiting payment, `by` an API key, an operator, or with `None` the configured API token. Of two concurrent decisions, the first applies.
    pub async fn decide(
        &self,
        requester: &Requester,
        id: StreamId,
        decision: Decision,
        by: Option<Origin>,
    ) -> Result<(), DecideError> {
        self.end_waiting(requester, id, |held, requested_by, now| match decision {
            Decision::Approve if by == requested_by => Err(DecideError::OwnRequest),
            Decision::Approve => Ok(held.clone().approve(now)),
            Decision::Decline => Ok(declined(held, "it was declined", now)),
        })
        .await
    }

    /// Declines a waiting payment whose requester `is_revoked`.
    pub async fn decline_if_revoked(
        &self,
        id: StreamId,
        is_revoked: &(impl Fn(Origin) -> bool + Send + Sync),
    ) -> Result<(), StoreError> {
        let ended = self.end_waiting(&Requester::Service, id, |held, requested_by, now| match requested_by {
            Some(origin) if is_revoked(origin) => Ok(declined(held, "the key that asked for it was revoked", now)),
            _ => Err(DecideError::NotFound),
        });
        // Not an action of the current request, if there is one.
        match Arc::<PendingAudit>::default().scope(ended).await {
            Err(DecideError::Store(error)) => Err(error),
            Ok(()) | Err(DecideError::NotFound | DecideError::OwnRequest) => Ok(()),
        }
    }

    /// Declines all waiting payments whose requester `is_revoked`.
    ///
    /// # Errors
    /// [`StoreError`]. The rest keeps waiting.
    pub async fn decline_requests_of_revoked(
        &self,
        is_revoked: impl Fn(Origin) -> bool + Send + Sync,
    ) -> Result<(), StoreError> {
        for id in self.waiting.after(None, usize::MAX) {
            self.decline_if_revoked(id, &is_revoked).await?;
        }
        Ok(())
    }

    /// Commits the result of a decision.
    async fn end_waiting(
        &self,
        requester: &Requester,
        id: StreamId,
        become_what: impl Fn(&HeldPayment, Option<Origin>, UnixMillis) -> Result<(Operation, Vec<Effect>), DecideError>
        + Send
        + Sync,
    ) -> Result<(), DecideError> {
        let ended = self.starter.committer.modify(
            |(operation, _): Undecided| operation,
            || self.undecided(requester, id),
            |(operation, requested_by), now| {
                let held = match operation {
                    Operation::HeldPayment(held) if held.waits(now) => held,
                    _ => return Err(DecideError::NotFound),
                };
                let (next, effects) = become_what(held, *requested_by, now)?;
                *operation = next;
                Ok(Modified::changed(effects, ()))
            },
        );
        ended.await?.ok_or(DecideError::NotFound)
    }

    pub(crate) async fn is_waiting(&self, id: StreamId) -> Result<bool, StoreError> {
        let now = self.core.clock.now();
        let found = self.core.readable(&Requester::Service, id).await?;
        Ok(matches!(found, Some((_, Operation::HeldPayment(held))) if held.waits(now)))
    }

    async fn undecided(&self, requester: &Requester, id: StreamId) -> Result<Option<Stored<Undecided>>, DecideError> {
        if !self.waiting.contains(id) {
            return Ok(None);
        }
        let found = self.core.readable(requester, id).await?;
        let found = found.filter(|(stored, _)| stored.finished_at.is_none());
        Ok(found.map(|(stored, operation)| (id, stored.version(), (operation, stored.origin))))
    }
}

fn declined(held: &HeldPayment, reason: &str, now: UnixMillis) -> (Operation, Vec<Effect>) {
    let mut held = held.clone();
    let effects = held.end(reason, now);
    (Operation::HeldPayment(held), effects)
}

fn described(id: StreamId, held: &HeldPayment, requested_by: Option<Origin>) -> WaitingPayment {
    let payment = held.payment();
    let spending = payment.machine().spending().unwrap_or_default();
    let (kind, purpose) = match payment {
        UnstartedPayment::Invoice { payment, .. } => {
            let invoice = payment.invoice();
            let description = clean(invoice.description().unwrap_or_default(), MAX_DESCRIPTION_CHARS);
            (PaymentKind::Outgoing, PaymentPurpose::Invoice { description, payee: invoice.payee() })
        }
        UnstartedPayment::Refund(refund) => {
            let (payment, description) = (refund.refund_of(), clean(refund.description(), MAX_DESCRIPTION_CHARS));
            (PaymentKind::Refund, PaymentPurpose::Refund { payment, description })
        }
        UnstartedPayment::OnChain(payment) => {
            (PaymentKind::OnChain, PaymentPurpose::OnChain { address: payment.address().to_owned() })
        }
    };
    WaitingPayment {
        id,
        kind,
        amount: spending.amount,
        max_fee: spending.fees_allowed,
        purpose,
        requested_by,
        requested_at: id.created_at(),
        expires_at: held.until(),
    }
}
