//! Starts a payment by the service's Lightning backend.

use std::time::Duration;

use usher_protocol::bolt11::Invoice;

use super::{OutgoingPayment, Phase};
use crate::kernel::request_errors::StartError;
use crate::machine::{Effect, lease};
use crate::payment::Payments;
use crate::payment::approval::UnstartedPayment;
use crate::ports::NewIdempotencyRecord;
use crate::{Requester, StreamId, UnixMillis};

/// A payment for the Lightning backend.
pub(crate) struct ServicePaymentRequest {
    /// The invoice; it names its amount.
    pub(crate) invoice: Invoice,
    /// The caller's reference, repeated in events.
    pub(crate) reference: Option<String>,
    /// Unix seconds after which no attempt begins. `None`: some minutes after the start of the payment.
    pub(crate) expires_at: Option<u64>,
}

impl OutgoingPayment {
    /// Pays `invoice`, which names its amount; no attempt begins after `expires_at`. `reference` is the app's
    /// reference, repeated in events. `fees_allowed` is the largest fee in millisats: it is reserved in the budget,
    /// because NIP-47 has no way to limit the fee that a backend pays.
    pub fn start(
        invoice: Invoice,
        reference: Option<String>,
        expires_at: UnixMillis,
        fees_allowed: u64,
        now: UnixMillis,
    ) -> (Self, Vec<Effect>) {
        let mut payment = Self {
            invoice,
            reference,
            started_at: now,
            expires_at,
            attempts: 0,
            sent_before: false,
            in_doubt: false,
            reason: None,
            fees_allowed,
            fees_paid: None,
            phase: Phase::Waiting { tries: 0, next: now },
            paid: false,
            unknown: false,
        };
        let effects = payment.begin(expires_at, now);
        (payment, effects)
    }

    /// Starts the payment if it has not started. No attempt begins after `expires_at`.
    pub(crate) fn begin(&mut self, expires_at: UnixMillis, now: UnixMillis) -> Vec<Effect> {
        self.started_at = now;
        self.expires_at = expires_at.min(UnixMillis::from_secs(self.invoice.expires_at()));
        self.phase = Phase::Waiting { tries: 0, next: lease(now) };
        vec![self.prepare()]
    }
}

impl Payments {
    /// Commits the payment as `id`. Returns the existing operation for this invoice, if there is one.
    pub(crate) async fn pay_from_backend(
        &self,
        requester: &Requester,
        id: StreamId,
        request: ServicePaymentRequest,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Option<StreamId>, StartError> {
        self.need_lightning()?;
        let now = self.core.clock.now();
        let ServicePaymentRequest { invoice, reference, expires_at: attempts_until } = request;
        let fee = self.budget.largest_fee(invoice.amount().unwrap_or_default());
        let (payment, _) = OutgoingPayment::start(invoice, reference, now, fee, now);
        let payment = UnstartedPayment::Invoice { payment, attempts_until };
        self.commit_spending(requester, id, payment, "/invoice", record).await
    }
}

pub(crate) fn whole_secs(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
