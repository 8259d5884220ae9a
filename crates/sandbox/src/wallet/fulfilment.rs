//! Carrying out approved requests: paying, sending invoices, agreeing to subscriptions, giving and receiving tickets.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::TicketJobId;
use usher_protocol::Event;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{
    Addressed, CashuRequest, CashuStatus, Currency, InvoiceRequest, InvoiceResponse, PaymentHash, PaymentRequest,
    PaymentStatus, WalletMessage,
};

use super::error::cannot;
use super::outgoing_messages::OutgoingMessage;
use super::reply::payment;
use super::wallet_state::WalletState;
use super::{
    Agreement, GivenTicket, PaymentSourceError, Reaction, ReceivedTicket, Request, RequestContent, Subscription,
    TicketAmount, Tickets, TicketsError, WalletError, reply,
};
use crate::lightning::{InvoiceTerms, Paid};

/// The pause after the first attempt to reach a mint; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Seconds for which an invoice of the user can be paid, at least.
const EXPIRY: u64 = 3_600;

/// The result of a request that was carried out.
#[derive(Clone, Debug, Default)]
pub struct Fulfilled {
    /// The last event that was sent about it; none for a token, to which there is no reply.
    pub event: Option<Event>,
    pub paid: Option<Paid>,
    pub invoice: Option<Invoice>,
    pub subscription: Option<Subscription>,
    pub given: Option<GivenTicket>,
    pub received: Option<ReceivedTicket>,
    /// The reply was that the wallet does not hold enough.
    pub insufficient_funds: bool,
}

impl Fulfilled {
    /// Nothing but a reply.
    pub fn replied(event: Event) -> Self {
        Self { event: Some(event), ..Self::default() }
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
            match &request.content {
                RequestContent::Payment(_) => {
                    let event = self.approve_payment(request)?;
                    self.fulfil_behind(request);
                    return Ok(Some(event));
                }
                RequestContent::Invoice(asked) => {
                    self.terms(asked)?;
                    self.payment_source.as_ref().ok_or(WalletError::NoPaymentSource)?;
                    self.fulfil_behind(request);
                    return Ok(None);
                }
                RequestContent::Ticket(_) | RequestContent::Token(_) => {
                    self.tickets()?;
                    self.fulfil_behind(request);
                    return Ok(None);
                }
                RequestContent::Recurring(_) => {
                    return Ok(self.agree(request, &Agreement::default())?.event);
                }
                _ => {}
            }
        }
        let message = reply::answer(request, reaction, &self.identity)?;
        self.respond(request, message.into()).map(Some)
    }

    fn fulfil_behind(self: &Arc<Self>, request: &Request) {
        let (later, request, work) = (Arc::clone(self), request.clone(), self.work.clone());
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(async move {
            let mut pause = FIRST_PAUSE;
            loop {
                let running = work.begin();
                let error = match later.finish(&request).await {
                    Ok(_) => return,
                    Err(error) => error,
                };
                drop(running);
                tracing::debug!(%error, "an approved request failed");
                // A mint that is away may come back before the request expires.
                let WalletError::Tickets(error) = &error else { return };
                if error.is_definite() {
                    return;
                }
                later.clock.sleep(pause).await;
                pause = pause.saturating_mul(2).min(MAX_PAUSE);
            }
        }));
    }

    pub(super) async fn fulfil(self: &Arc<Self>, request: &Request) -> Result<Fulfilled, WalletError> {
        match &request.content {
            RequestContent::Payment(_) => {
                self.approve_payment(request)?;
                self.finish(request).await
            }
            RequestContent::Invoice(_) | RequestContent::Ticket(_) | RequestContent::Token(_) => {
                self.finish(request).await
            }
            RequestContent::Recurring(_) => self.agree(request, &Agreement::default()),
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
        match &request.content {
            RequestContent::Payment(asked) => {
                let _turn = self.payments.lock().await;
                self.finish_payment(request, asked).await
            }
            RequestContent::Invoice(asked) => {
                let payment_source = self.payment_source.as_ref().ok_or(WalletError::NoPaymentSource)?;
                let invoice = payment_source.make_invoice(&self.terms(asked)?).await?;
                let event = self.send_invoice(request, asked, invoice.as_str().to_owned(), invoice.payment_hash())?;
                Ok(Fulfilled { invoice: Some(invoice), ..Fulfilled::replied(event) })
            }
            RequestContent::Ticket(asked) => self.give_ticket(request, asked).await,
            RequestContent::Token(sent) => {
                let received = self.receive_token(&sent.token).await?;
                self.requests.received(request, Ok(received.clone()), false);
                Ok(Fulfilled { received: Some(received), ..Fulfilled::default() })
            }
            _ => Err(cannot(request)),
        }
    }

    /// Gives a ticket of the amount and the mint's fee for redeeming it, or replies that the wallet does not hold enough.
    async fn give_ticket(&self, request: &Request, asked: &CashuRequest) -> Result<Fulfilled, WalletError> {
        let tickets = self.tickets()?;
        if asked.expires_at <= self.messages.now() {
            return Err(WalletError::Expired);
        }
        // The same request again gets the same token.
        let identity = [&request.from.to_bytes()[..], request.id.as_bytes()].concat();
        let id = TicketJobId::derive("cashu_request", &identity);
        let what = TicketAmount {
            amount: asked.amount,
            unit: Some(asked.unit.clone()),
            mint_url: Some(asked.mint_url.clone()),
        };
        let respond = |status| self.respond(request, reply::ticket(asked, &self.identity, status).into());
        match tickets.give(id, &what, Some(&request.id)).await {
            Ok(given) => {
                let token = given.token.as_ref().map(|token| token.0.clone()).unwrap_or_default();
                let event = respond(CashuStatus::Success { token: token.into() })?;
                Ok(Fulfilled { given: Some(given), ..Fulfilled::replied(event) })
            }
            Err(error) if error.is_insufficient() => {
                let event = respond(CashuStatus::InsufficientFunds)?;
                Ok(Fulfilled { insufficient_funds: true, ..Fulfilled::replied(event) })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn tickets(&self) -> Result<&Tickets, WalletError> {
        self.tickets.as_ref().ok_or(WalletError::Tickets(TicketsError::NoTickets))
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

    fn terms(&self, asked: &InvoiceRequest) -> Result<InvoiceTerms, WalletError> {
        if asked.currency != Currency::Millisats {
            return Err(WalletError::NotMillisats);
        }
        let left = asked.expires_at.saturating_sub(self.messages.now());
        let description = asked.description.clone().unwrap_or_default();
        Ok(InvoiceTerms::of(asked.amount).described(fitting(description)).for_seconds(left.max(EXPIRY)))
    }

    fn send_invoice(
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
