//! The end of a payment, and its reports to the app and the subscription.

use std::time::Duration;

use usher_protocol::bolt11::Invoice;
use usher_protocol::message::Preimage;

use super::{InvoiceSource, LINGER, LINGER_AT_LINK, MAX_LINGER, Payment, Phase, Received};
use crate::UnixMillis;
use crate::event_data::PaymentData;
use crate::machine::{ChargeEnd, Charged, Effect, Signal, StateMachine as _, StepResult};
use crate::ports::CorrelationKey;

impl Payment {
    pub(super) fn proven(
        &mut self,
        preimage: Option<&Preimage>,
        received: Option<Received>,
        now: UnixMillis,
    ) -> StepResult {
        if self.paid {
            return self.paid_again(received, now);
        }
        self.paid = true;
        self.received = received;
        let skimmed = received.filter(|received| received.skimmed_fee > 0);
        let data = PaymentData {
            preimage: preimage.map(Preimage::to_hex),
            amount_received: skimmed.map(|skimmed| skimmed.amount),
            skimmed_fee: skimmed.map(|skimmed| skimmed.skimmed_fee),
            ..self.data("paid")
        };
        let report = if self.renews() { self.renewal_report(preimage) } else { self.report(data, now) };
        let mut effects: Vec<_> = report.into_iter().chain([Effect::ClearOutbox]).collect();
        let signal = match self.charge() {
            Some(charge) => {
                Signal::Charged(Charged { charge, end: ChargeEnd::Paid(preimage.copied()), price: self.price.clone() })
            }
            None => Signal::Paid { request_id: self.request_id.clone() },
        };
        effects.extend(self.signal_subscription(signal));
        match &self.source {
            // A further invoice, or the original one, may be paid as well.
            InvoiceSource::Own { .. } if self.is_paid_by_renewal_only() || self.has_open_renewal(now) => {}
            InvoiceSource::Own { .. } => {
                self.phase = Phase::Ended { until: now };
                effects.push(Effect::Finish);
            }
            InvoiceSource::Other { .. } => self.phase = Phase::Ended { until: self.over_until(now) },
        }
        StepResult::Stepped(effects)
    }

    pub(super) fn time_out(&mut self, now: UnixMillis) -> StepResult {
        if self.disputed {
            return self.end(
                "error",
                Some("the wallet says that it was paid, and its proof or its amount is wrong"),
                now,
            );
        }
        let ended = self.end("timeout", Some("the user did not pay in time"), now);
        self.set_renewable(now);
        ended
    }

    /// Ends it unpaid, because nobody has seen an invoice.
    pub(super) fn fail(&mut self, reason: &str, now: UnixMillis) -> StepResult {
        let Phase::Making { .. } = self.phase else { return StepResult::Ignored };
        let outcome = self.end("error", Some(reason), now);
        match outcome {
            // The payer's page shows the end as long as other ends.
            StepResult::Stepped(effects) if self.of_link.is_some() => StepResult::Stepped(effects),
            StepResult::Stepped(mut effects) => {
                effects.push(Effect::Finish);
                StepResult::Stepped(effects)
            }
            StepResult::Ignored => StepResult::Ignored,
        }
    }

    pub(super) fn end(&mut self, status: &'static str, reason: Option<&str>, now: UnixMillis) -> StepResult {
        self.phase = Phase::Ended { until: self.over_until(now) };
        let mut effects: Vec<_> = self.tell(status, reason, now).into_iter().chain([Effect::ClearOutbox]).collect();
        if let Some(charge) = self.charge() {
            let end = ChargeEnd::Failed {
                status: status.to_owned(),
                reason: reason.map(str::to_owned),
                may_be_paid: self.disputed,
            };
            effects.extend(self.signal_subscription(Signal::Charged(Charged {
                charge,
                end,
                price: self.price.clone(),
            })));
        } else if now < self.expires_at {
            effects.extend(self.signal_subscription(Signal::NotPaid { request_id: self.request_id.clone() }));
        }
        StepResult::Stepped(effects)
    }

    /// Until when money may arrive; an external invoice is remembered until no request can name it again.
    pub(super) fn over_until(&self, now: UnixMillis) -> UnixMillis {
        let linger = now.plus(if self.of_link.is_some() { LINGER_AT_LINK } else { LINGER });
        let expired = |invoice: &Invoice| UnixMillis::from_secs(invoice.expires_at()).plus(Duration::from_secs(60));
        match &self.source {
            // A Lightning backend may create invoices that are valid longer than requested.
            InvoiceSource::Own { invoice, .. } => {
                invoice.as_ref().map_or(linger, |invoice| expired(invoice).clamp(linger, now.plus(MAX_LINGER)))
            }
            InvoiceSource::Other { invoice } if self.paid => expired(invoice),
            InvoiceSource::Other { invoice } => expired(invoice).max(linger),
        }
    }

    pub(super) fn signal_subscription(&self, signal: Signal) -> Option<Effect> {
        let link = self.subscription.as_ref()?;
        Some(Effect::Signal(CorrelationKey::subscription(&link.subscription_id), signal))
    }

    pub(super) fn tell(&self, status: &str, reason: Option<&str>, now: UnixMillis) -> Option<Effect> {
        let data = PaymentData {
            reason: reason.map(str::to_owned),
            outcome: (self.disputed && status == "error").then(|| "unknown".to_owned()),
            paid_late_until: self.paid_late_until().map(UnixMillis::secs),
            ..self.data(status)
        };
        self.report(data, now)
    }

    pub(super) fn data(&self, status: &str) -> PaymentData {
        PaymentData {
            status: status.to_owned(),
            request_id: self.reference.clone(),
            subscription_id: self.subscription.as_ref().map(|link| link.subscription_id.clone()),
            ..PaymentData::default()
        }
        .with_price(self.price.as_ref())
    }
}
