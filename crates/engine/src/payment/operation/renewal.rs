//! Further invoices of a payment whose invoice has expired, at the payer's request.
//!
//! Each is a payment of its own, like one at a payment link, and is watched as long. It has no events and no record in the
//! books: the commit that settles it signals this payment, which reports `paid`. This payment stays until none of its invoices
//! can be paid. What a second invoice brings is added to the received amount.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the further invoice is committed | the payer requests it again |
//! | after that | it is a payment, and resumes as one; the payer who requests it again gets the same |
//! | before its settlement is committed | as there: both payments are one commit |

use std::time::Duration;

use usher_protocol::message::Preimage;

use super::terms::Renewal;
use super::{
    InvoiceSource, LINGER, LINGER_AT_LINK, MAX_LINGER, Payment, PaymentOfLink, PaymentProgress, PaymentTerms, Phase,
    Received,
};
use crate::machine::{Effect, RenewalPaid, Signal, StepResult};
use crate::payment::expiry::PAGE_TTL;
use crate::ports::CorrelationKey;
use crate::{StreamId, UnixMillis};

/// The most further invoices of a payment: anybody with the page's address can request them.
const MAX_RENEWALS: usize = 10;

/// The least time to pay a further invoice.
const MIN_TIME: Duration = Duration::from_secs(60);

/// How often a payment that would leave looks again whether a further invoice may still be paid.
const LEAVE_EVERY: Duration = Duration::from_secs(3600);

impl Payment {
    /// Allows further invoices for a day, after it has expired: not for a subscription, whose wallet pays, nor at a link, which
    /// issues others.
    pub(super) fn set_renewable(&mut self, now: UnixMillis) {
        if let (Phase::Ended { .. }, InvoiceSource::Own { .. }, None, None) =
            (&self.phase, &self.source, &self.subscription, &self.of_link)
            && !self.disputed
            && !self.withdrawn
        {
            self.renewable_until = Some(now.plus(LINGER));
        }
    }

    /// Until when a further invoice, requested now, can be paid; `None` if none can be requested.
    pub(crate) fn next_expiry(&self, now: UnixMillis) -> Option<UnixMillis> {
        let until = self.renewable_until.filter(|until| now.plus(MIN_TIME) <= *until)?;
        let is_wanted = !self.paid && !self.disputed && self.renewals.len() < MAX_RENEWALS;
        is_wanted.then(|| until.min(now.plus(PAGE_TTL)))
    }

    /// The last further invoice: the stream of its payment.
    pub(crate) fn last_renewal(&self) -> Option<StreamId> {
        self.renewals.last().map(|renewal| renewal.payment)
    }

    pub(crate) fn forget_last_renewal(&mut self) {
        self.renewals.pop();
    }

    /// Records a further invoice, and returns the terms of its payment. `stream` is this payment's.
    pub(crate) fn renew(
        &mut self,
        stream: StreamId,
        renewal: StreamId,
        request_id: String,
        expires_at: UnixMillis,
    ) -> PaymentTerms {
        self.renewals.push(Renewal { payment: renewal, until: expires_at.plus(LINGER_AT_LINK), ended: false });
        PaymentTerms {
            payer: None,
            request_id,
            reference: None,
            description: self.description.clone(),
            subscription: None,
            of_link: Some(PaymentOfLink {
                link: stream,
                payment: renewal,
                comment: None,
                metadata: None,
                renews: Some(self.request_id.clone()),
            }),
            expires_at,
        }
    }

    pub(super) fn renewed_until(&self) -> UnixMillis {
        let open = self.renewals.iter().filter(|renewal| !renewal.ended);
        open.map(|renewal| renewal.until).max().unwrap_or(UnixMillis(0))
    }

    /// Whether a further invoice may be paid. Each reports its end; one that is lost with a damaged store is given up.
    pub(super) fn has_open_renewal(&self, now: UnixMillis) -> bool {
        let gives_up = |until: UnixMillis| until.plus(MAX_LINGER * 2);
        self.renewals.iter().any(|renewal| !renewal.ended && now < gives_up(renewal.until))
    }

    pub(super) const fn is_paid_by_renewal_only(&self) -> bool {
        self.paid_by.is_some() && !self.is_first_paid
    }

    /// Finishes it, unless a further invoice may be paid.
    pub(super) fn leave(&mut self, now: UnixMillis) -> StepResult {
        if self.has_open_renewal(now) {
            self.phase = Phase::Ended { until: now.plus(LEAVE_EVERY) };
            return StepResult::Stepped(Vec::new());
        }
        StepResult::Stepped(self.report_to_renewed(None).into_iter().chain([Effect::Finish]).collect())
    }

    /// A second invoice was paid.
    pub(super) fn paid_again(&mut self, more: Option<Received>, now: UnixMillis) -> StepResult {
        let (Some(received), Some(more)) = (&mut self.received, more) else { return StepResult::Ignored };
        received.amount = received.amount.saturating_add(more.amount);
        received.skimmed_fee = received.skimmed_fee.saturating_add(more.skimmed_fee);
        self.leave_if_paid(now)
    }

    fn leave_if_paid(&mut self, now: UnixMillis) -> StepResult {
        if self.paid && !self.is_paid_by_renewal_only() { self.leave(now) } else { StepResult::Stepped(Vec::new()) }
    }

    /// A further invoice was paid, or no longer can be.
    pub(super) fn renewal_ended(
        &mut self,
        stream: StreamId,
        paid: Option<&RenewalPaid>,
        now: UnixMillis,
    ) -> StepResult {
        let open = self.renewals.iter_mut().find(|renewal| renewal.payment == stream && !renewal.ended);
        let Some(renewal) = open else { return StepResult::Ignored };
        renewal.ended = true;
        let Some(paid) = paid else { return self.leave_if_paid(now) };
        if !self.paid {
            (self.amount, self.price) = (paid.amount, paid.price.clone());
            self.paid_by = Some(paid.invoice.clone());
        }
        let received = Received { amount: paid.amount_received, skimmed_fee: paid.skimmed_fee };
        self.proven(paid.preimage.as_ref(), Some(received), now)
    }

    /// Whether it has not ended.
    pub(crate) const fn is_open(&self) -> bool {
        !matches!(self.progress(), PaymentProgress::Paid | PaymentProgress::Ended)
    }

    /// Whether the Lightning backend created no invoice for it.
    pub(crate) const fn ended_without_invoice(&self) -> bool {
        matches!(self.progress(), PaymentProgress::Ended) && self.invoice().is_none()
    }

    /// Whether it is a further invoice of another payment.
    pub(super) fn renews(&self) -> bool {
        self.of_link.as_ref().is_some_and(|of| of.renews.is_some())
    }

    /// Reports this further invoice as paid.
    pub(super) fn renewal_report(&self, preimage: Option<&Preimage>) -> Option<Effect> {
        let Received { amount: amount_received, skimmed_fee } = self.received?;
        self.report_to_renewed(Some(Box::new(RenewalPaid {
            invoice: self.invoice()?.clone(),
            preimage: preimage.copied(),
            amount: self.amount,
            price: self.price.clone(),
            amount_received,
            skimmed_fee,
        })))
    }

    fn report_to_renewed(&self, paid: Option<Box<RenewalPaid>>) -> Option<Effect> {
        let of = self.of_link.as_ref()?;
        let renewed = CorrelationKey::request(of.renews.as_ref()?);
        Some(Effect::Signal(renewed, Signal::Renewal(of.payment, paid)))
    }
}
