//! Starts a payment by the service's own Lightning backend, within its budget.

use std::time::Duration;

use usher_protocol::bolt11::Invoice;

use crate::kernel::request_errors::StartError;
use crate::operations::{Operation, OutgoingPayment};
use crate::payment::Payments;
use crate::payment::spending_budget::BudgetError;
use crate::ports::{CorrelationKey, NewIdempotencyRecord};
use crate::{StreamId, UnixMillis};

/// What the Lightning backend is to pay.
pub(crate) struct ServicePaymentRequest {
    /// The invoice; it names its amount.
    pub(crate) invoice: Invoice,
    /// The caller's own reference, repeated in events.
    pub(crate) reference: Option<String>,
    /// No attempt begins after it.
    pub(crate) expires_at: UnixMillis,
}

impl Payments {
    /// Commits the payment as `id`; returns the operation that pays this invoice already, if there is one.
    pub(crate) async fn pay_from_backend(
        &self,
        id: StreamId,
        request: ServicePaymentRequest,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Option<StreamId>, StartError> {
        self.need_lightning()?;
        let now = self.core.clock.now();
        let ServicePaymentRequest { invoice, reference, expires_at } = request;
        let fee = self.budget.largest_fee(invoice.amount().unwrap_or_default());
        let paying = CorrelationKey::paying(invoice.payment_hash());
        let (payment, effects) = OutgoingPayment::start(invoice, reference, expires_at, fee, now);
        let starting = self.starting.read().await;
        let allocation = match self.budget.reserve(id, &payment.spending(), now) {
            Ok(allocation) => allocation,
            Err(BudgetError::TooLarge { of, budget, fee }) => {
                let detail = format!(
                    "is more than {of} ({budget}) allows for a whole day, with a fee of up to \
                     {fee} millisats"
                );
                return Err(StartError::invalid("/invoice", detail));
            }
            Err(BudgetError::Exhausted { of, retry_after }) => {
                drop(starting);
                // A concurrent request with the same invoice may have taken the allocation, and be committing now.
                let _started = self.starting.write().await;
                return match self.core.index.find(paying) {
                    Some(owner) => Ok(Some(owner)),
                    None => Err(StartError::BudgetExhausted { budget: of, retry_after: whole_secs(retry_after) }),
                };
            }
        };
        let owner = self.starter.create(id, Operation::OutgoingPayment(payment), effects, record).await;
        if matches!(owner, Ok(Some(_)) | Err(StartError::TooManyOpen | StartError::TooManyEnded | StartError::Repeated))
        {
            allocation.release();
        }
        owner
    }
}

/// Seconds, rounded up.
pub(crate) fn whole_secs(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
