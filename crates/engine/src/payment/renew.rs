//! A payer's request on the page of a payment for a further invoice, because the last one has expired.

use std::time::Duration;

use super::Payments;
use super::link::error::LinkError;
use super::link::offer::fixed_now;
use super::operation::Payment;
use crate::kernel::commit::Change;
use crate::kernel::request_errors::StartError;
use crate::page_rules::KeyedPage;
use crate::ports::{Conflict, StoreError};
use crate::price::{Price, PriceUnit};
use crate::registry::Operation;
use crate::{ClientNetwork, Requester, StreamId};

impl Payments {
    /// Requests a further invoice, at the current rate if the price is in a currency. Changes nothing while the last one
    /// can be paid, or if none can be requested: the page shows which.
    pub async fn renew(&self, id: StreamId, secret: &str, network: ClientNetwork) -> Result<(), LinkError> {
        if !self.pages.is_secret(KeyedPage::Payment, id, secret) {
            return Err(LinkError::NotFound);
        }
        // Repeated if the payment was stepped meanwhile, such as by another request for an invoice.
        loop {
            let Some((stored, Operation::SinglePayment(mut payment))) =
                self.core.readable(&Requester::Service, id).await?
            else {
                return Err(LinkError::NotFound);
            };
            let now = self.core.clock.now();
            let is_open = self.last_renewal(&mut payment).await?.is_some_and(|renewal| renewal.is_open());
            let expires_at = payment.next_expiry(now).filter(|_| stored.finished_at.is_none() && !is_open);
            let Some(expires_at) = expires_at else { return Ok(()) };
            if !self.has_lightning {
                return Err(LinkError::NoInvoice);
            }
            let (amount, price) = match payment.price() {
                Some(&Price { amount, currency: PriceUnit::Minor(currency), .. }) => {
                    fixed_now(&self.checks, amount, currency)?
                }
                price => (payment.amount(), price.cloned()),
            };
            let renewal = self.core.ids.stream_id();
            let (place, _) = self.open_renewals.begin(id, renewal, network)?;
            let terms = payment.renew(id, renewal, self.core.ids.token(), expires_at);
            let (further, effects) = Payment::to_us(terms, amount, self.network, now);
            let changes = vec![
                Change::start(renewal, stored.origin, Operation::LinkPayment(further.priced(price)), effects),
                Change::step(id, stored.version(), Operation::SinglePayment(payment), Vec::new()),
            ];
            match self.starter.create_all(changes, None).await {
                Ok(None) => {
                    place.keep();
                    return Ok(());
                }
                Ok(Some(Conflict::Revision)) => {}
                Err(StartError::TooManyOpen | StartError::TooManyEnded) => {
                    return Err(LinkError::Busy { retry_after: Duration::from_secs(60) });
                }
                Err(StartError::Store(error)) => return Err(error.into()),
                Ok(Some(_)) | Err(_) => {
                    return Err(StoreError::Unexpected("a further invoice of a payment is not started").into());
                }
            }
        }
    }

    /// The payment of the last further invoice, unless it was removed. If no invoice was created, it does not count.
    pub(super) async fn last_renewal(&self, payment: &mut Payment) -> Result<Option<Payment>, StoreError> {
        let Some(id) = payment.last_renewal() else { return Ok(None) };
        match self.core.readable(&Requester::Service, id).await? {
            Some((_, Operation::LinkPayment(renewal))) => {
                if renewal.ended_without_invoice() {
                    payment.forget_last_renewal();
                }
                Ok(Some(renewal))
            }
            _ => Ok(None),
        }
    }
}
