//! Commits payments by the service's Lightning backend, within the budget, and after an approval if required.

use super::Payments;
use super::approval::{HeldPayment, UnstartedPayment};
use super::outgoing::start::whole_secs;
use super::spending_budget::BudgetError;
use crate::access::Scope;
use crate::kernel::request_errors::StartError;
use crate::ports::{NewIdempotencyRecord, StoreError};
use crate::registry::Operation;
use crate::{Requester, StreamId};

impl Payments {
    /// Commits the payment as `id`; returns the operation that already pays its invoice, if any. `field` is the
    /// request's field with the amount.
    pub(super) async fn commit_spending(
        &self,
        requester: &Requester,
        id: StreamId,
        payment: UnstartedPayment,
        field: &'static str,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Option<StreamId>, StartError> {
        requester.need(Scope::PaymentsSend)?;
        let now = self.core.clock.now();
        let spending = payment.machine().spending().unwrap_or_default();
        let starting = self.starting.read().await;
        let allocation = match self.budget.reserve(requester, id, &spending, now) {
            Ok(allocation) => allocation,
            Err(BudgetError::TooLarge { of, budget, fee }) => {
                let detail = format!(
                    "comes to {} millisats, more than {of} ({budget}) allows for a whole day, with a fee of up to {fee} \
                     millisats",
                    spending.amount
                );
                return Err(StartError::invalid(field, detail));
            }
            Err(BudgetError::Exhausted { of, retry_after }) => {
                drop(starting);
                // A concurrent request with the same invoice may have taken the allocation, and be about to commit.
                let _started = self.starting.write().await;
                let keys = payment.machine().correlations();
                return match keys.into_iter().find_map(|key| self.core.index.find(key)) {
                    Some(owner) => Ok(Some(owner)),
                    None => Err(StartError::BudgetExhausted { budget: of, retry_after: whole_secs(retry_after) }),
                };
            }
        };
        let waits = self.budget.needs_approval(&spending);
        let (operation, effects) = if waits {
            let (held, effects) = HeldPayment::start(payment, now);
            (Operation::HeldPayment(held), effects)
        } else {
            payment.begin(now)
        };
        let owner = self.starter.create(id, requester.origin(), operation, effects, record).await;
        match owner {
            Ok(None) if waits => {
                tracing::info!(stream_id = %id, amount = spending.amount, "a payment waits for an approval");
            }
            Ok(Some(_)) | Err(StartError::TooManyOpen | StartError::TooManyEnded | StartError::Repeated) => {
                allocation.release();
            }
            _ => {}
        }
        owner
    }

    /// The same for a payment without an invoice.
    pub(super) async fn commit_new_spending(
        &self,
        requester: &Requester,
        id: StreamId,
        payment: UnstartedPayment,
        field: &'static str,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<StreamId, StartError> {
        match self.commit_spending(requester, id, payment, field, record).await? {
            None => Ok(id),
            Some(_) => Err(StoreError::Unexpected("a random correlation key was there already").into()),
        }
    }
}
