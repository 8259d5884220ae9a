use std::time::Duration;

use super::Payments;
use super::link::offer::about;
use crate::kernel::request_errors::EventsError;
use crate::machine::StateMachine as _;
use crate::page_rules::KeyedPage;
use crate::payment::operation::{Payment, PaymentProgress};
use crate::ports::{BookedPayment, PaymentRecordStatus, StoreError};
use crate::price::Price;
use crate::registry::Operation;
use crate::{OperationOutcome, Requester, ShownStream, StreamId, UnixMillis};

/// The most events of a payment: each status once, and failures.
const MAX_EVENTS: usize = 1_000;

/// How long after the payment its page leads back to the app: a browser may show it again late.
const RETURNS: Duration = Duration::from_secs(3600);

/// The data of a payment page.
#[derive(Clone)]
pub struct PaymentView {
    /// The progress of the payment.
    pub progress: PaymentProgress,
    /// The user's wallet has agreed, and the payment is in progress.
    pub is_approved: bool,
    /// The outcome, if the payment ended without being paid.
    pub end: Option<OperationOutcome>,
    /// Millisats.
    pub amount: u64,
    /// When it was paid. `None` also if the accounting entry was removed.
    pub paid_at: Option<UnixMillis>,
    /// Whether the page leads back to the app by itself: later, its address shows the receipt.
    pub returns: bool,
    /// The price, if it was not requested in millisats.
    pub price: Option<Price>,
    /// Otherwise, before the end, about how much it is in the currency that pages also show.
    pub about: Option<Price>,
    /// What the payment is for.
    pub description: String,
    /// The invoice, while it can be paid.
    pub invoice: Option<String>,
    /// The address to which the page leads at the end.
    pub return_url: Option<String>,
    /// The time left to pay.
    pub time_left: Duration,
    /// Whether the payer can request a further invoice.
    pub is_renewable: bool,
    /// Whether the last further invoice could not be created.
    pub has_renewal_failed: bool,
    /// Whether this is a further invoice, whose changes have no events.
    pub is_renewed: bool,
}

/// The page of a payment whose operation was removed after its retention.
fn receipt(BookedPayment { changed_at, record, .. }: BookedPayment) -> Option<PaymentView> {
    let is_receipt = record.kind.is_incoming() && record.status == PaymentRecordStatus::Paid;
    is_receipt.then(|| PaymentView {
        progress: PaymentProgress::Paid,
        is_approved: false,
        end: None,
        amount: record.amount,
        paid_at: Some(changed_at),
        returns: false,
        price: record.price.and_then(|price| serde_json::from_str(&price).ok()),
        about: None,
        description: record.description,
        invoice: None,
        return_url: None,
        time_left: Duration::ZERO,
        is_renewable: false,
        has_renewal_failed: false,
        is_renewed: false,
    })
}

impl Payments {
    /// The address of a payment's page. Anybody with this address can see and pay the invoice.
    pub fn page_url(&self, id: StreamId) -> String {
        self.pages.page_url(KeyedPage::Payment, id)
    }

    /// The data of a payment's page. `None` if there is no such payment, or the secret is wrong.
    pub async fn page(&self, id: StreamId, secret: &str) -> Result<Option<PaymentView>, StoreError> {
        if !self.pages.is_secret(KeyedPage::Payment, id, secret) {
            return Ok(None);
        }
        let mut payment = match self.core.readable(&Requester::Service, id).await? {
            Some((_, Operation::SinglePayment(payment) | Operation::LinkPayment(payment))) => payment,
            Some(_) => return Ok(None),
            None => return Ok(self.booked(&Requester::Service, id).await?.and_then(receipt)),
        };
        let now = self.core.clock.now();
        let statuses = self.statuses(id).await?;
        let renewal = if payment.is_paid() { None } else { self.last_renewal(&mut payment).await? };
        let has_renewal_failed = renewal.as_ref().is_some_and(Payment::ended_without_invoice);
        let renewal = renewal.filter(Payment::is_open);
        let is_renewable = renewal.is_none() && payment.next_expiry(now).is_some();
        let is_renewed = renewal.is_some();
        let return_url = payment.return_url().map(str::to_owned);
        let payment = renewal.unwrap_or(payment);
        let progress = payment.progress();
        let about = about(&self.checks, &self.pages, payment.amount());
        let can_be_paid = matches!(progress, PaymentProgress::Asking);
        let booked = if progress == PaymentProgress::Paid { self.booked(&Requester::Service, id).await? } else { None };
        Ok(Some(PaymentView {
            progress,
            is_approved: !is_renewed && statuses.iter().any(|status| status == "user_approved"),
            end: payment.end_at_link().or_else(|| {
                statuses.last().filter(|_| progress == PaymentProgress::Ended).map(|s| OperationOutcome::of_status(s))
            }),
            amount: payment.amount(),
            returns: booked.as_ref().is_some_and(|payment| now < payment.changed_at.plus(RETURNS)),
            paid_at: booked.map(|payment| payment.changed_at),
            price: payment.price().cloned(),
            about: about.filter(|_| payment.price().is_none_or(|price| price.major().is_none())),
            description: payment.description().to_owned(),
            invoice: payment.invoice().filter(|_| can_be_paid).map(|invoice| invoice.as_str().to_owned()),
            return_url,
            time_left: payment.expires_at().since(now),
            is_renewable,
            has_renewal_failed,
            is_renewed,
        }))
    }

    /// How a payment to the service has ended unpaid; `None` if it has not, or this is no such payment.
    pub async fn unpaid_status(&self, id: StreamId) -> Result<Option<String>, StoreError> {
        match self.core.readable(&Requester::Service, id).await? {
            Some((_, Operation::SinglePayment(payment))) if payment.is_done() && !payment.is_paid() => {
                Ok(self.statuses(id).await?.pop())
            }
            _ => Ok(None),
        }
    }

    async fn statuses(&self, id: StreamId) -> Result<Vec<String>, StoreError> {
        let events = match self.feed.read(ShownStream::to_service(id), 0, MAX_EVENTS).await {
            Ok(page) => page.events,
            Err(EventsError::Store(error)) => return Err(error),
            Err(EventsError::NotFound | EventsError::Removed { .. } | EventsError::Damaged { .. }) => Vec::new(),
        };
        let status = |data: &str| {
            let data: serde_json::Value = serde_json::from_str(data).ok()?;
            Some(data.get("status")?.as_str()?.to_owned())
        };
        Ok(events.iter().filter_map(|event| status(&event.data)).collect())
    }
}
