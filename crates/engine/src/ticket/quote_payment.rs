//! The payment of a mint's quote by the service's Lightning backend, as an ordinary payment operation.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use usher_protocol::bolt11::Invoice;

use super::minting_job::RequestedMint;
use crate::FieldError;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::request_errors::{EventsError, StartError, TicketCallError};
use crate::payment::Payments;
use crate::payment::pay_invoice::PayInvoiceRequest;
use crate::ports::{Clock, MintTerms, Minted, StoreError, TicketError, Token};
use crate::{ShownStream, StreamId};

const WAIT: Duration = Duration::from_secs(30);

/// The pause before the next query of a mint that has not noticed the payment yet.
const PAUSE: Duration = Duration::from_millis(500);

/// The `request_id` in events of these payments, whose streams were not started by the app.
const REFERENCE: &str = "cashu/mint";

pub(crate) struct QuotePayer {
    pub(crate) payments: Arc<Payments>,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl QuotePayer {
    pub(super) async fn mint_paid(&self, invoice: &str, job: &RequestedMint) -> Result<Token, TicketCallError> {
        let until = self.clock.monotonic().saturating_add(WAIT);
        if let Err(error) = self.pay(invoice, job, until).await {
            if self.is_certainly_unpaid(invoice, &error) {
                job.abandon_quote().await;
            }
            return Err(error);
        }
        loop {
            if let Minted::Token(token) = job.ask().await? {
                return Ok(token);
            }
            if self.clock.monotonic() >= until {
                return Err(TicketError::TimedOut.into());
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    async fn pay(&self, invoice: &str, job: &RequestedMint, until: Duration) -> Result<(), TicketCallError> {
        let invoice = self.read(invoice, &job.terms)?;
        let request = PayInvoiceRequest {
            main_key: None,
            subkeys: Vec::new(),
            invoice,
            amount: None,
            currency: None,
            description: None,
            reference: Some(REFERENCE.to_owned()),
            expires_at: None,
        };
        // For the same invoice: the stream of the pending or finished payment.
        let payment = self.payments.pay(&job.requester, request, None).await.map_err(of_amount)?;
        self.paid(payment, until).await
    }

    fn is_certainly_unpaid(&self, invoice: &str, error: &TicketCallError) -> bool {
        match error {
            TicketCallError::NotPaid { is_certain, .. } => *is_certain,
            TicketCallError::Start(StartError::Store(_)) => false,
            // The request was refused. An earlier one with the same idempotency key may have started the payment.
            TicketCallError::Start(_) | TicketCallError::Ticket(TicketError::InvalidResponse(_)) => {
                !invoice.parse().is_ok_and(|invoice: Invoice| self.payments.is_paying(&invoice))
            }
            TicketCallError::Ticket(_)
            | TicketCallError::NotFound
            | TicketCallError::TokenRequired
            | TicketCallError::ApprovalRequired { .. } => false,
        }
    }

    fn read(&self, invoice: &str, terms: &MintTerms) -> Result<Invoice, TicketCallError> {
        let invalid = |what: String| TicketCallError::Ticket(TicketError::InvalidResponse(what));
        let invoice: Invoice =
            invoice.parse().map_err(|_| invalid("the invoice of its quote cannot be read".to_owned()))?;
        let rules = &self.payments.checks.rules;
        if invoice.network() != rules.network {
            return Err(invalid(format!(
                "the invoice of its quote is for the network {}; this service uses {}",
                invoice.network(),
                rules.network
            )));
        }
        if invoice.is_expired(self.clock.now().secs()) {
            return Err(invalid("the invoice of its quote has expired".to_owned()));
        }
        let asked = invoice.amount().ok_or_else(|| invalid("the invoice of its quote names no amount".to_owned()))?;
        if asked > rules.max_amount {
            let detail = format!(
                "the mint asks for {asked} millisats, more than limits.max_amount_millisats, which is {}",
                rules.max_amount
            );
            return Err(StartError::invalid("/amount", detail).into());
        }
        if value_in_millisats(&terms.unit, terms.amount).is_some_and(|value| asked > value) {
            return Err(invalid(format!("it asks for {asked} millisats for {} {}", terms.amount, terms.unit)));
        }
        Ok(invoice)
    }

    async fn paid(&self, payment: StreamId, until: Duration) -> Result<(), TicketCallError> {
        #[derive(Deserialize)]
        struct Data {
            status: String,
            reason: Option<String>,
            outcome: Option<String>,
        }
        // It was started for the requester, or they have access to it.
        let (stream, mut after) = (ShownStream::to_service(payment), 0);
        loop {
            let left = until.saturating_sub(self.clock.monotonic());
            let page = match self.feed.wait(stream, after, 10, left).await {
                Ok(page) => page,
                Err(EventsError::Store(failure)) => return Err(StartError::Store(failure).into()),
                Err(EventsError::NotFound | EventsError::Removed { .. } | EventsError::Damaged { .. }) => {
                    return Err(StartError::Store(StoreError::Unreadable("the events of a payment")).into());
                }
            };
            let events: Vec<Data> =
                page.events.iter().filter_map(|event| serde_json::from_str(&event.data).ok()).collect();
            if events.iter().any(|event| event.status == "paid") {
                return Ok(());
            }
            match events.into_iter().next_back() {
                Some(Data { status, .. }) if status == "approval_required" => {
                    if self.payments.is_waiting(payment).await? {
                        return Err(TicketCallError::ApprovalRequired { payment });
                    }
                    after += 1;
                }
                Some(Data { reason, outcome, .. }) => {
                    return Err(TicketCallError::NotPaid {
                        reason: reason.unwrap_or_default(),
                        is_certain: outcome.as_deref() == Some("not_paid"),
                    });
                }
                None => return Err(TicketError::TimedOut.into()),
            }
        }
    }
}

/// Reports the error for the requested amount: the app does not know the mint's invoice.
fn of_amount(error: StartError) -> StartError {
    let StartError::Invalid(errors) = error else { return error };
    StartError::Invalid(
        errors
            .into_iter()
            .map(|error| FieldError {
                pointer: "/amount".to_owned(),
                detail: format!("the mint's invoice {}", error.detail),
            })
            .collect(),
    )
}

/// The value of the token, if its unit determines it. For other units the mint's price applies.
fn value_in_millisats(unit: &str, amount: u64) -> Option<u64> {
    match unit {
        "sat" => Some(amount.saturating_mul(1000)),
        "msat" => Some(amount),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_of_bitcoin_have_a_known_value() {
        let value = |unit: &str| value_in_millisats(unit, 21);
        assert_eq!(["sat", "msat", "usd", "multi"].map(value), [Some(21_000), Some(21), None, None]);
    }
}
