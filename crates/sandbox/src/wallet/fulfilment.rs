//! Carrying out approved requests: paying, sending invoices, agreeing to subscriptions.

use std::sync::Arc;

use usher_protocol::Event;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{
    Addressed, Currency, InvoiceRequest, InvoiceResponse, PaymentHash, PaymentRequest, PaymentStatus, WalletMessage,
};

use super::error::cannot;
use super::messages::OutgoingMessage;
use super::reply::payment;
use super::wallet_state::WalletState;
use super::{Agreement, Asked, PaymentSourceError, Reaction, Request, Subscription, WalletError, reply};
use crate::lightning::{InvoiceTerms, Paid};

/// Seconds for which an invoice of the user can be paid, at least.
const EXPIRY: u64 = 3_600;

/// The result of a request that was carried out.
#[derive(Clone, Debug)]
pub struct Fulfilled {
    /// The last event that was sent about it.
    pub event: Event,
    /// The payment.
    pub paid: Option<Paid>,
    /// The invoice that was created.
    pub invoice: Option<Invoice>,
    /// The subscription that was agreed to.
    pub subscription: Option<Subscription>,
}

impl Fulfilled {
    /// A reply without a payment, an invoice or a subscription.
    pub const fn replied(event: Event) -> Self {
        Self { event, paid: None, invoice: None, subscription: None }
    }
}

impl WalletState {
    /// Replies to a request, and keeps the reply for repetitions of the request. A payment or an invoice is made in the
    /// background; an event is returned only if one was sent before that.
    pub(super) fn react(
        self: &Arc<Self>,
        request: &Request,
        reaction: &Reaction,
    ) -> Result<Option<Event>, WalletError> {
        if *reaction == Reaction::Approve {
            match &request.asked {
                Asked::Payment(_) => {
                    let event = self.approve_payment(request)?;
                    self.fulfil_behind(request);
                    return Ok(Some(event));
                }
                Asked::Invoice(asked) => {
                    self.terms(asked)?;
                    self.payment_source.as_ref().ok_or(WalletError::NoPaymentSource)?;
                    self.fulfil_behind(request);
                    return Ok(None);
                }
                Asked::Recurring(_) => {
                    return Ok(Some(self.agree(request, &Agreement::default())?.event));
                }
                _ => {}
            }
        }
        let message = reply::answer(request, reaction, self.identity.proof())?;
        self.respond(request, message.into()).map(Some)
    }

    fn fulfil_behind(self: &Arc<Self>, request: &Request) {
        let (later, request) = (Arc::clone(self), request.clone());
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(async move {
            if let Err(error) = later.finish(&request).await {
                tracing::debug!(%error, "an approved request failed");
            }
        }));
    }

    /// Replies to a request and carries it out.
    pub(super) async fn fulfil(self: &Arc<Self>, request: &Request) -> Result<Fulfilled, WalletError> {
        match &request.asked {
            Asked::Payment(_) => {
                self.approve_payment(request)?;
                self.finish(request).await
            }
            Asked::Invoice(_) => self.finish(request).await,
            Asked::Recurring(_) => self.agree(request, &Agreement::default()),
            _ => Ok(Fulfilled::replied(self.react(request, &Reaction::Approve)?.ok_or(cannot(request))?)),
        }
    }

    fn approve_payment(&self, request: &Request) -> Result<Event, WalletError> {
        self.payment_source.as_ref().ok_or(WalletError::NoPaymentSource)?;
        let message = payment(request, PaymentStatus::Approved).ok_or(cannot(request))?;
        // A repeated request gets the last reply again, which must stay the success.
        if self.requests.is_paid(request) {
            return self.send(request.from, &message.into());
        }
        self.respond(request, message.into())
    }

    async fn finish(&self, request: &Request) -> Result<Fulfilled, WalletError> {
        match &request.asked {
            Asked::Payment(asked) => {
                let _turn = self.payments.lock().await;
                self.finish_payment(request, asked).await
            }
            Asked::Invoice(asked) => {
                let payment_source = self.payment_source.as_ref().ok_or(WalletError::NoPaymentSource)?;
                let invoice = payment_source.make_invoice(&self.terms(asked)?).await?;
                let event = self.send_invoice(request, asked, invoice.as_str().to_owned(), invoice.payment_hash())?;
                Ok(Fulfilled { invoice: Some(invoice), ..Fulfilled::replied(event) })
            }
            _ => Err(cannot(request)),
        }
    }

    async fn finish_payment(&self, request: &Request, asked: &PaymentRequest) -> Result<Fulfilled, WalletError> {
        let paid = self.pay(asked).await;
        let status = match &paid {
            // The payment may have succeeded or may still do so: nothing is reported, and the user can look again.
            Err(WalletError::PaymentSource(error)) if !error.is_definite() => {
                return Err(WalletError::PaymentSource(error.clone()));
            }
            Ok(paid) => PaymentStatus::Success { preimage: Some(paid.preimage) },
            Err(error) => PaymentStatus::Failed { reason: Some(error.to_string()) },
        };
        let message = payment(request, status).ok_or(cannot(request))?;
        if let (Ok(_), Some(id)) = (&paid, &asked.subscription_id)
            && !self.requests.is_paid(request)
        {
            let mut subscriptions = self.subscriptions.lock();
            if let Some(subscription) = subscriptions.iter_mut().find(|known| known.id == *id) {
                subscription.payments = subscription.payments.saturating_add(1);
            }
        }
        let event = self.respond(request, message.into())?;
        Ok(Fulfilled { paid: Some(paid?), ..Fulfilled::replied(event) })
    }

    /// Pays a request if the invoice is for the requested amount.
    pub(super) async fn pay(&self, asked: &PaymentRequest) -> Result<Paid, WalletError> {
        let payment_source = self.payment_source.as_ref().ok_or(WalletError::NoPaymentSource)?;
        let invoice: Invoice = asked.invoice.parse().map_err(PaymentSourceError::NotAnInvoice)?;
        let millisats = (asked.currency == Currency::Millisats).then_some(asked.amount);
        if let (Some(asked), Some(named)) = (millisats, invoice.amount())
            && asked != named
        {
            return Err(WalletError::OtherAmount);
        }
        Ok(payment_source.pay(&asked.invoice, millisats).await?)
    }

    /// The terms of a requested invoice.
    pub(super) fn terms(&self, asked: &InvoiceRequest) -> Result<InvoiceTerms, WalletError> {
        if asked.currency != Currency::Millisats {
            return Err(WalletError::NotMillisats);
        }
        let left = asked.expires_at.saturating_sub(self.messages.now());
        let description = asked.description.clone().unwrap_or_default();
        Ok(InvoiceTerms::of(asked.amount).described(fitting(description)).for_seconds(left.max(EXPIRY)))
    }

    pub(super) fn send_invoice(
        &self,
        request: &Request,
        asked: &InvoiceRequest,
        invoice: String,
        payment_hash: PaymentHash,
    ) -> Result<Event, WalletError> {
        let response = InvoiceResponse {
            request: Addressed {
                inner: asked.clone(),
                main_key: self.identity.main_key(),
                recipient: self.identity.public_key(),
            },
            invoice,
            payment_hash: Some(payment_hash),
        };
        self.respond(request, WalletMessage::InvoiceResponse(response).into())
    }

    /// Sends a reply, and keeps it for repetitions of the request.
    pub(super) fn respond(&self, request: &Request, answer: OutgoingMessage) -> Result<Event, WalletError> {
        let event = self.send(request.from, &answer)?;
        self.requests.answered(request, answer);
        Ok(event)
    }
}

/// A description, cut to the length that an invoice allows.
fn fitting(mut text: String) -> String {
    let mut end = text.len().min(usher_protocol::bolt11::MAX_DESCRIPTION_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}
