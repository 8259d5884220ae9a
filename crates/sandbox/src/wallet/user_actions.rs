//! Payments, subscriptions and invoices on the user's command.

use std::time::Duration;

use usher_protocol::Event;
use usher_protocol::message::{CloseSubscription, PaymentStatus, WalletMessage};

use super::error::cannot;
use super::outgoing_messages::OutgoingMessage;
use super::reply::{payment, recurring, with_calendar};
use super::subscription::{Agreement, Closed, Subscription};
use super::wallet_state::WalletState;
use super::{Fulfilled, PaymentSource, PaymentSourceError, Request, RequestContent, Wallet, WalletError};
use crate::lightning::Paid;

impl Wallet {
    /// Approves a request and carries it out: pays and confirms, sends an invoice, gives or receives a ticket. A
    /// payment that fails is reported, and the next call tries again; what succeeded is not done again.
    ///
    /// # Errors
    /// [`WalletError`]; [`WalletError::PaymentSource`] when it could not pay.
    pub async fn fulfil(&self, request: &Request) -> Result<Fulfilled, WalletError> {
        self.inner.fulfil(request).await
    }

    /// Reports that the payment failed, without trying it. A later [`fulfil`](Self::fulfil) can still pay.
    ///
    /// # Errors
    /// [`WalletError::CannotAnswer`] if the request is not for a payment.
    pub fn fail(&self, request: &Request, reason: Option<&str>) -> Result<Event, WalletError> {
        let reason = reason.map(str::to_owned);
        let message = payment(request, PaymentStatus::Failed { reason }).ok_or(cannot(request))?;
        self.inner.respond(request, message.into())
    }

    /// Agrees to a subscription on other terms than the requested ones.
    ///
    /// # Errors
    /// [`WalletError::CannotAnswer`] if the request is not for a subscription.
    pub fn agree(&self, request: &Request, terms: &Agreement) -> Result<Fulfilled, WalletError> {
        self.inner.agree(request, terms)
    }

    /// The subscriptions that the user agreed to, including closed ones, oldest first.
    pub fn subscriptions(&self) -> Vec<Subscription> {
        self.inner.subscriptions.lock().clone()
    }

    /// Closes a subscription and notifies the service.
    ///
    /// # Errors
    /// [`WalletError::NoSuchSubscription`] if the user never agreed to it. Closing a closed one notifies again.
    pub fn close(&self, subscription_id: &str, reason: Option<&str>) -> Result<Event, WalletError> {
        let reason = reason.map(str::to_owned);
        let service = {
            let mut all = self.inner.subscriptions.lock();
            let known = all.iter_mut().find(|known| known.id == subscription_id);
            let known = known.ok_or_else(|| WalletError::NoSuchSubscription(subscription_id.to_owned()))?;
            known.closed.get_or_insert(Closed { by_service: false, reason: reason.clone() });
            known.service
        };
        let subscription_id = subscription_id.to_owned();
        let close = CloseSubscription { subscription_id, reason, by_service: false };
        self.inner.send(service, &WalletMessage::CloseSubscription(close).into())
    }

    /// Whether the user agreed to this payment when agreeing to its subscription.
    pub fn is_agreed(&self, request: &Request) -> bool {
        self.inner.is_agreed(request)
    }

    /// Pays an invoice when its time is over; `over_at` is in Unix seconds by the wallet's clock. `None` without an account.
    pub async fn pay_late(&self, invoice: &str, over_at: u64) -> Option<Result<Paid, PaymentSourceError>> {
        self.inner.pay_late(invoice, over_at, || true).await
    }

    /// The Lightning account that it pays from.
    pub fn payment_source(&self) -> Option<&PaymentSource> {
        self.inner.payment_source.as_ref()
    }
}

impl WalletState {
    /// See [`Wallet::pay_late`]; `None` also if it is then no longer wanted.
    pub(super) async fn pay_late(
        &self,
        invoice: &str,
        over_at: u64,
        is_wanted: impl Fn() -> bool + Send,
    ) -> Option<Result<Paid, PaymentSourceError>> {
        // Not at the second of the expiry, which the service may still read as in time.
        let left = over_at.saturating_add(1).saturating_sub(self.clock.now());
        self.clock.sleep(Duration::from_secs(left)).await;
        let source = self.payment_source.as_ref().filter(|_| is_wanted())?;
        let _running = self.work.begin();
        Some(source.pay_late(invoice).await)
    }

    pub(super) fn agree(&self, request: &Request, terms: &Agreement) -> Result<Fulfilled, WalletError> {
        let RequestContent::Recurring(asked) = &request.content else { return Err(cannot(request)) };
        // Approving the same request again gives the same subscription.
        let known = self.requests.agreed(request);
        let id = known.unwrap_or_else(new_id);
        let subscription = Subscription::agreed(id, request.from, asked, terms);
        let message = recurring(asked, &subscription);
        let text = with_calendar(&message, subscription.recurrence.calendar.expanded());
        Subscription::remember(&mut self.subscriptions.lock(), subscription.clone());
        let event = self.respond(request, OutgoingMessage { message, text })?;
        Ok(Fulfilled { subscription: Some(subscription), ..Fulfilled::replied(event) })
    }
}

/// An id that nobody can guess.
fn new_id() -> String {
    let mut bytes = [0; 16];
    rand::RngCore::fill_bytes(&mut rand::rng(), &mut bytes);
    hex::encode(bytes)
}
