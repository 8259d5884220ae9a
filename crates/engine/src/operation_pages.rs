//! Payments and key handshakes as their pages show them.

use std::sync::Arc;
use std::time::Duration;

use crate::kernel::damaged_rows::Damage;
use crate::kernel::errors::EventsError;
use crate::kernel::event_feed::EventFeed;
use crate::login::handshake_urls::HandshakeUrls;
use crate::operations::{Operation, PaymentProgress};
use crate::page_rules::{KeyedPage, PageRules};
use crate::ports::{Clock, StoreError};
use crate::{EventType, OperationOutcome, StreamId};

/// Most events of a payment: its statuses, once each, and failures.
const MAX_EVENTS: usize = 1_000;

/// A payment as its page shows it.
#[derive(Clone)]
pub struct PaymentView {
    /// How far it is.
    pub progress: PaymentProgress,
    /// The user's wallet has agreed, and the money is on its way.
    pub is_approved: bool,
    /// How it has ended without being paid.
    pub end: Option<OperationOutcome>,
    /// Millisats.
    pub amount: u64,
    /// What it is for.
    pub description: String,
    /// The invoice while it can be paid.
    pub invoice: Option<String>,
    /// Where the page leads to at the end.
    pub return_url: Option<String>,
    /// How long it can still be paid.
    pub time_left: Duration,
}

/// A key handshake as its page shows it.
#[derive(Clone)]
pub struct HandshakeView {
    /// How far it is.
    pub state: HandshakeState,
    /// Its URL.
    pub url: String,
    /// Where the page leads to at the end.
    pub return_url: Option<String>,
    /// How long it can still be completed; `None` when it is reusable.
    pub time_left: Option<Duration>,
}

/// How far a key handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeState {
    /// It waits for a wallet.
    Waiting,
    /// A wallet has completed it.
    Completed,
    /// Nobody did in time, or it was closed.
    Over,
}

/// Reads operations for their pages.
pub(crate) struct OperationPages {
    pub(crate) damage: Arc<Damage>,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) urls: Arc<HandshakeUrls>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rules: PageRules,
}

impl OperationPages {
    /// See [`Engine::payment_page_url`](crate::Engine::payment_page_url).
    pub(crate) fn payment_url(&self, id: StreamId) -> String {
        self.rules.page_url(KeyedPage::Payment, id)
    }

    /// See [`Engine::payment_page`](crate::Engine::payment_page).
    pub(crate) async fn payment(&self, id: StreamId, secret: &str) -> Result<Option<PaymentView>, StoreError> {
        if !self.rules.is_secret(KeyedPage::Payment, id, secret) {
            return Ok(None);
        }
        let Some((_, Operation::SinglePayment(payment))) = self.damage.readable(id).await? else { return Ok(None) };
        let statuses = self.statuses(id).await?;
        let progress = payment.progress();
        let can_be_paid = matches!(progress, PaymentProgress::Asking);
        Ok(Some(PaymentView {
            progress,
            is_approved: statuses.iter().any(|status| status == "user_approved"),
            end: statuses.last().filter(|_| progress == PaymentProgress::Over).map(|s| OperationOutcome::of_status(s)),
            amount: payment.amount(),
            description: payment.description().to_owned(),
            invoice: payment.invoice().filter(|_| can_be_paid).map(|invoice| invoice.as_str().to_owned()),
            return_url: payment.return_url().map(str::to_owned),
            time_left: payment.expires_at().since(self.clock.now()),
        }))
    }

    /// See [`Engine::handshake_page`](crate::Engine::handshake_page).
    pub(crate) async fn handshake(&self, id: StreamId, secret: &str) -> Result<Option<HandshakeView>, StoreError> {
        if !self.rules.is_secret(KeyedPage::Handshake, id, secret) {
            return Ok(None);
        }
        let Some((stored, Operation::KeyHandshake(handshake))) = self.damage.readable(id).await? else {
            return Ok(None);
        };
        let state = if stored.finished_at.is_none() {
            HandshakeState::Waiting
        } else {
            let events = self.feed.events(id, 0, 1).await.map(|page| page.events).unwrap_or_default();
            let is_completed = events.iter().any(|event| event.event_type == EventType::KeyHandshake);
            if is_completed && !handshake.is_reusable() { HandshakeState::Completed } else { HandshakeState::Over }
        };
        let now = self.clock.now();
        Ok(Some(HandshakeView {
            state,
            url: self.urls.url(handshake.token(), handshake.no_request()),
            return_url: handshake.return_url().map(str::to_owned),
            time_left: handshake.expires_at().map(|at| at.since(now)),
        }))
    }

    /// The statuses of the events of a payment, in their order.
    async fn statuses(&self, id: StreamId) -> Result<Vec<String>, StoreError> {
        let events = match self.feed.events(id, 0, MAX_EVENTS).await {
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
