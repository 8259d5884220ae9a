//! Approvals: outgoing payments above a limit (`wallet.approval_above_millisats`) wait for somebody other than the
//! requester.
//!
//! ```text
//! waiting ──somebody else approves────▶ becomes the held payment: of an invoice, a refund, on chain
//! waiting ──somebody declines─────────▶ finished  StatusUpdate {status: error, reason, outcome: not_paid}
//! waiting ──expired───────────────────▶ finished  StatusUpdate {status: error, reason, outcome: not_paid}
//! ```
//!
//! It begins with `StatusUpdate {status: approval_required}`. The held payment has not begun: nothing was sent, signed,
//! ordered or requested. The budget, the books and look-ups of its invoice already treat it as that payment. An
//! approval and the expiry are commits of the same revision, so only one of them succeeds.
//!
//! | crash … | what the next start does |
//! | --- | --- |
//! | before the commit of the decision | it waits, until the same time |
//! | after it | the held payment begins as after any crash ([`OutgoingPayment`], [`Refund`], [`OnChainPayment`]) |

mod begin;
pub(crate) mod decide;
pub(crate) mod decision;
pub(crate) mod waiting;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;

use crate::UnixMillis;
use crate::event_data::{EventData, PaymentData};
use crate::machine::{Effect, Input, Spending, StateMachine, StepResult, emit};
use crate::payment::on_chain::OnChainPayment;
use crate::payment::outgoing::OutgoingPayment;
use crate::payment::refund::Refund;
use crate::ports::{CorrelationKey, OperationKind, PaymentRecord, PaymentRecordStatus};

/// The longest wait of a payment.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// How long after its expiry the invoice of an unapproved payment is remembered, because clocks differ.
const AFTER_EXPIRY: Duration = Duration::from_secs(60);

/// Time reserved before an invoice's expiry, in which an approved payment could no longer be made.
const TIME_TO_PAY: Duration = Duration::from_secs(10);

/// A payment that has not begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "holds", rename_all = "snake_case")]
pub(crate) enum UnstartedPayment {
    Invoice {
        #[serde(flatten)]
        payment: OutgoingPayment,
        /// Unix seconds until which attempts may begin, if the request says so.
        attempts_until: Option<u64>,
    },
    /// To an invoice that the payer of an earlier payment will name.
    Refund(Refund),
    OnChain(OnChainPayment),
}

/// The state of a payment waiting for an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldPayment {
    #[serde(flatten)]
    payment: UnstartedPayment,
    /// Until when it can be approved.
    until: UnixMillis,
    /// When it ended without an approval.
    ended_at: Option<UnixMillis>,
}

impl UnstartedPayment {
    pub(crate) fn machine(&self) -> &dyn StateMachine {
        match self {
            Self::Invoice { payment, .. } => payment,
            Self::Refund(refund) => refund,
            Self::OnChain(payment) => payment,
        }
    }

    pub(crate) const fn invoice(&self) -> Option<&Invoice> {
        match self {
            Self::Invoice { payment, .. } => Some(payment.invoice()),
            Self::Refund(_) | Self::OnChain(_) => None,
        }
    }

    fn useful_until(&self) -> Option<UnixMillis> {
        match self {
            Self::Invoice { payment, attempts_until } => {
                let invoice = payment.invoice().expires_at();
                let until = attempts_until.map_or(invoice, |until| until.min(invoice));
                Some(UnixMillis::from_secs(until).minus(TIME_TO_PAY))
            }
            Self::Refund(refund) => Some(refund.expires_at()),
            Self::OnChain(_) => None,
        }
    }
}

impl HeldPayment {
    pub(crate) fn start(payment: UnstartedPayment, now: UnixMillis) -> (Self, Vec<Effect>) {
        let longest = now.plus(MAX_WAIT);
        let until = payment.useful_until().map_or(longest, |until| until.min(longest));
        let held = Self { payment, until, ended_at: None };
        let data = PaymentData { status: "approval_required".to_owned(), ..held.data() };
        let told = emit(EventData::Payment(data), now);
        (held, vec![told])
    }

    /// The kind of the held payment, which does not change when it begins.
    pub(crate) const fn kind(&self) -> OperationKind {
        match &self.payment {
            UnstartedPayment::Invoice { .. } => OperationKind::OutgoingPayment,
            UnstartedPayment::Refund(_) => OperationKind::Refund,
            UnstartedPayment::OnChain(_) => OperationKind::OnChainPayment,
        }
    }

    pub(crate) const fn payment(&self) -> &UnstartedPayment {
        &self.payment
    }

    pub(crate) const fn refund(&self) -> Option<&Refund> {
        match &self.payment {
            UnstartedPayment::Refund(refund) => Some(refund),
            UnstartedPayment::Invoice { .. } | UnstartedPayment::OnChain(_) => None,
        }
    }

    /// Until when it can be approved.
    pub(crate) const fn until(&self) -> UnixMillis {
        self.until
    }

    pub(crate) fn waits(&self, now: UnixMillis) -> bool {
        self.ended_at.is_none() && now < self.until
    }

    pub(crate) fn end(&mut self, reason: &str, now: UnixMillis) -> Vec<Effect> {
        self.ended_at = Some(now);
        let data = PaymentData {
            status: "error".to_owned(),
            reason: Some(reason.to_owned()),
            outcome: Some("not_paid".to_owned()),
            ..self.data()
        };
        vec![emit(EventData::Payment(data), now), Effect::Finish]
    }

    fn data(&self) -> PaymentData {
        let reference = self.payment.machine().payment_record().and_then(|record| record.reference);
        PaymentData { request_id: reference, ..PaymentData::default() }
    }
}

impl StateMachine for HeldPayment {
    fn is_about(&self, user: &PublicKey) -> bool {
        matches!(&self.payment, UnstartedPayment::Refund(refund) if refund.is_about(user))
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Timer if now >= self.until => StepResult::Stepped(self.end("nobody approved it in time", now)),
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(self.until)
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        self.payment.machine().correlations()
    }

    /// The same invoice cannot be requested again until it has expired, so that a refusal is final.
    fn kept_correlations(&self) -> Vec<(CorrelationKey, UnixMillis)> {
        let until = |invoice: &Invoice| UnixMillis::from_secs(invoice.expires_at()).plus(AFTER_EXPIRY);
        let kept =
            self.payment.invoice().map(|invoice| (CorrelationKey::paying(invoice.payment_hash()), until(invoice)));
        kept.into_iter().collect()
    }

    fn is_done(&self) -> bool {
        self.ended_at.is_some()
    }

    fn lingers(&self) -> bool {
        true
    }

    fn spending(&self) -> Option<Spending> {
        match self.ended_at {
            None => self.payment.machine().spending(),
            until => Some(Spending { until, ..Spending::default() }),
        }
    }

    fn payment_record(&self) -> Option<PaymentRecord> {
        let record = self.payment.machine().payment_record()?;
        let status = if self.is_done() { PaymentRecordStatus::NotPaid } else { PaymentRecordStatus::Open };
        Some(PaymentRecord { status, ..record })
    }
}

#[cfg(test)]
mod tests;
