use std::time::Duration;

use super::Payments;
use crate::kernel::request_errors::EventsError;
use crate::page_rules::KeyedPage;
use crate::payment::operation::PaymentProgress;
use crate::ports::StoreError;
use crate::price::Price;
use crate::registry::Operation;
use crate::{OperationOutcome, Requester, ShownStream, StreamId, UnixMillis};

/// The most events of a payment: each status once, and failures.
const MAX_EVENTS: usize = 1_000;

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
    /// The price, if it was not requested in millisats.
    pub price: Option<Price>,
    /// What the payment is for.
    pub description: String,
    /// The invoice, while it can be paid.
    pub invoice: Option<String>,
    /// The address to which the page leads at the end.
    pub return_url: Option<String>,
    /// The time left to pay.
    pub time_left: Duration,
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
        let Some((_, Operation::SinglePayment(payment) | Operation::LinkPayment(payment))) =
            self.core.readable(&Requester::Service, id).await?
        else {
            return Ok(None);
        };
        let statuses = self.statuses(id).await?;
        let progress = payment.progress();
        let can_be_paid = matches!(progress, PaymentProgress::Asking);
        let booked = if progress == PaymentProgress::Paid { self.booked(&Requester::Service, id).await? } else { None };
        Ok(Some(PaymentView {
            progress,
            is_approved: statuses.iter().any(|status| status == "user_approved"),
            end: payment.end_at_link().or_else(|| {
                statuses.last().filter(|_| progress == PaymentProgress::Ended).map(|s| OperationOutcome::of_status(s))
            }),
            amount: payment.amount(),
            paid_at: booked.map(|payment| payment.changed_at),
            price: payment.price().cloned(),
            description: payment.description().to_owned(),
            invoice: payment.invoice().filter(|_| can_be_paid).map(|invoice| invoice.as_str().to_owned()),
            return_url: payment.return_url().map(str::to_owned),
            time_left: payment.expires_at().since(self.core.clock.now()),
        }))
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
