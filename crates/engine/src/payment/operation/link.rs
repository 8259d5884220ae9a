//! A payment requested at a payment link. Its stream has no events: the link's stream reports it as paid.

use super::{Payment, PaymentProgress};
use crate::event::NewEvent;
use crate::event_data::{EventData, PaymentData};
use crate::machine::{Effect, Signal, StateMachine as _, emit};
use crate::ports::CorrelationKey;
use crate::{OperationOutcome, UnixMillis};

impl Payment {
    /// The text whose hash replaces the description in the invoice.
    pub(super) fn hashed_text(&self) -> Option<&str> {
        self.of_link.as_ref()?.metadata.as_deref()
    }

    /// Reports the payment's status to the app; for one at a link, only that it was paid, on the link's stream.
    pub(super) fn report(&self, data: PaymentData, now: UnixMillis) -> Option<Effect> {
        let Some(of) = &self.of_link else { return Some(emit(EventData::Payment(data), now)) };
        self.paid.then(|| {
            let data = PaymentData {
                payment_id: Some(of.payment.to_string()),
                comment: of.comment.clone(),
                amount: Some(self.price.as_ref().map_or(self.amount, |price| price.amount)),
                currency: Some(
                    self.price.as_ref().map_or_else(|| "millisats".to_owned(), |price| price.currency.to_string()),
                ),
                amount_millisats: Some(self.amount),
                ..data
            };
            let event = NewEvent::new(&EventData::Payment(data), now);
            Effect::Signal(CorrelationKey::payment_link(of.link), Signal::LinkPaid(event))
        })
    }

    /// Its outcome, if no event of its own reports it.
    pub(super) const fn outcome(&self) -> OperationOutcome {
        match self.progress() {
            PaymentProgress::Paid => OperationOutcome::Paid,
            // Without an invoice, none could be created.
            _ if self.invoice().is_none() => OperationOutcome::Error,
            _ => OperationOutcome::Timeout,
        }
    }

    pub(crate) const fn is_paid(&self) -> bool {
        self.paid
    }

    /// How a payment at a link has ended without being paid; `None` if its own events say so.
    pub(crate) fn end_at_link(&self) -> Option<OperationOutcome> {
        self.of_link.as_ref().filter(|_| self.is_done() && !self.paid).map(|_| self.outcome())
    }
}
