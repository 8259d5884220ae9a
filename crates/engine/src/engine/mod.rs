//! The engine: its public face ([`Engine`]) and the wiring of its parts.

pub(crate) mod options;
mod wiring;

use std::sync::Arc;
use std::time::Duration;

use crate::StreamId;
use crate::audit::AuditLog;
use crate::field_value_checks::FieldChecks;
use crate::kernel::core::Core;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::idempotency::{IdempotencyRecords, IdempotentRequest};
use crate::kernel::invoice_watcher::InvoiceWatcher;
use crate::kernel::lightning_metrics::LightningMetrics;
use crate::kernel::lightning_queue::{LightningBackend, LightningQueue};
use crate::kernel::metrics::EngineMetrics;
use crate::kernel::request_errors::StartError;
use crate::kernel::requester::Requester;
use crate::kernel::starter::Starter;
use crate::kernel::ticket_queue::TicketQueue;
use crate::kernel::user_erasure::{ErasedUser, ErasurePosition, SEARCH_TIME, SearchedUntil, UserErasure};
use crate::kernel::webhook_dispatcher::WebhookDispatcher;
use crate::login::Logins;
use crate::login::key_handshake::Handshakes;
use crate::login::scan_limits::{ScanLimits, ScanMetrics};
use crate::machine;
use crate::payment::Payments;
use crate::payment::link::start::PaymentLinks;
use crate::ports::{
    DamagedRow, ExchangeRates, HourlySums, LightningError, LightningInfo, LightningNode, LightningStatus, StoreError,
};
use crate::registry::Operation;
use crate::subscription::subscriptions::Subscriptions;
use crate::ticket::tickets::Tickets;
use crate::user::UserView;
use crate::verification::Verification;
use crate::webhook_test::WebhookTest;

/// Runs operations.
///
/// Poll each method that starts an operation to completion: if it is dropped between the commit and the response, the
/// operation is durable but unknown to this process until the next start.
pub struct Engine {
    core: Core,
    starter: Arc<Starter>,
    events: Arc<EventFeed>,
    watcher: Arc<InvoiceWatcher>,
    lightning: Option<LightningBackend>,
    rates: Option<Arc<dyn ExchangeRates>>,
    lightning_calls: Arc<LightningMetrics>,
    lightning_queue: Arc<LightningQueue>,
    ticket_queue: Arc<TicketQueue>,
    idempotency: Arc<IdempotencyRecords>,
    checks: Arc<FieldChecks>,
    scans: Arc<ScanLimits>,
    handshakes: Arc<Handshakes>,
    logins: Arc<Logins>,
    payments: Arc<Payments>,
    payment_links: Arc<PaymentLinks>,
    subscriptions: Subscriptions,
    tickets: Arc<Tickets>,
    verification: Arc<Verification>,
    webhooks: Arc<WebhookDispatcher>,
    erasure: UserErasure,
    audit: Arc<AuditLog>,
}

impl Engine {
    /// Key handshakes.
    pub fn handshakes(&self) -> &Handshakes {
        &self.handshakes
    }

    /// Logins.
    pub const fn logins(&self) -> &Arc<Logins> {
        &self.logins
    }

    /// Payments, and invoices requested from users.
    pub fn payments(&self) -> &Payments {
        &self.payments
    }

    /// Payment links.
    pub const fn payment_links(&self) -> &Arc<PaymentLinks> {
        &self.payment_links
    }

    /// Subscriptions.
    pub const fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Tickets.
    pub fn tickets(&self) -> &Tickets {
        &self.tickets
    }

    /// Age verification.
    pub const fn verification(&self) -> &Arc<Verification> {
        &self.verification
    }

    /// The events of all streams.
    pub fn events(&self) -> &EventFeed {
        &self.events
    }

    /// Deliveries of events to the app's webhook.
    pub fn webhooks(&self) -> &WebhookDispatcher {
        &self.webhooks
    }

    /// The audit log.
    pub fn audit(&self) -> &AuditLog {
        &self.audit
    }

    /// Responses to idempotent requests.
    pub fn idempotency(&self) -> &IdempotencyRecords {
        &self.idempotency
    }

    /// Validation of requests' values.
    pub fn checks(&self) -> &FieldChecks {
        &self.checks
    }
}

impl Engine {
    /// Most subkeys of one conversation (docs/protocol.md, Subkeys).
    pub const MAX_SUBKEYS: usize = machine::MAX_SUBKEYS;

    /// Time limit of the search of [`erase_user`](Self::erase_user), after which it completes the current batch.
    pub const ERASURE_TIME: Duration = SEARCH_TIME;

    /// Erases a user's stored data; returns what is kept and why. Each call searches for some seconds; with
    /// [`next`](ErasedUser::next), another call continues. After the last one, another erasure finds nothing to remove.
    ///
    /// # Errors
    /// [`StoreError`]. Earlier removals stay.
    pub async fn erase_user(
        &self,
        main_key: &usher_protocol::PublicKey,
        position: Option<ErasurePosition>,
    ) -> Result<ErasedUser, StoreError> {
        self.erasure.erase(main_key, position).await
    }

    /// The sums of the hours with these numbers since the Unix epoch, from `from` on and before `to`, in their order;
    /// without those in which nothing happened.
    pub async fn hourly_sums(&self, from: u64, to: u64) -> Result<Vec<HourlySums>, StoreError> {
        self.core.store.hourly_sums(from, to).await
    }

    /// What is kept of a user. Each call searches for some seconds, from `after` on; with [`next`](UserView::next), another call
    /// continues.
    pub async fn user(
        &self,
        main_key: &usher_protocol::PublicKey,
        after: Option<SearchedUntil>,
    ) -> Result<UserView, StoreError> {
        UserView::read(&self.core, main_key, after).await
    }

    /// Tests the app's webhook: delivers an event of type `Test`, the first of the returned stream.
    pub async fn test_webhook(
        &self,
        requester: &Requester,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        if !self.webhooks.is_on() {
            return Err(StartError::NoWebhook);
        }
        let (now, id) = (self.core.clock.now(), self.core.ids.stream_id());
        let (test, effects) = WebhookTest::start(now);
        let record = once.map(|once| once.record(&id, now));
        self.starter.create_new(id, requester.origin(), Operation::WebhookTest(test), effects, record).await
    }

    /// Returns when a vital task has panicked: operations no longer end, so the process should restart.
    pub async fn failed(&self) {
        self.core.tasks.failed().await;
    }

    /// When the first timer is due, from now. With [`is_idle`](Self::is_idle), for clocks that are moved.
    pub fn next_timer(&self) -> Option<Duration> {
        self.core.timers.first_due()
    }

    /// Whether every input is processed, and nothing is asked of the Lightning backend or a mint, or being posted to the
    /// webhook.
    pub fn is_idle(&self) -> bool {
        self.core.inputs.is_idle()
            && self.lightning_queue.is_idle()
            && self.ticket_queue.is_idle()
            && self.webhooks.is_idle()
    }

    /// The number of open operations, including the reserved stream.
    pub fn open_streams(&self) -> usize {
        self.core.index.len()
    }

    /// The number of watched invoices of the service.
    pub fn watched_invoices(&self) -> usize {
        self.watcher.count()
    }

    /// The number of invoices that the Lightning backend reports as paid with an invalid proof or amount.
    pub fn disputed_settlements(&self) -> usize {
        self.watcher.disputed_count()
    }

    /// Exchange rates; `None` without sources.
    pub fn exchange_rates(&self) -> Option<&dyn ExchangeRates> {
        self.rates.as_deref()
    }

    /// The current metrics of operations.
    pub fn metrics(&self) -> EngineMetrics {
        self.core.metrics.values()
    }

    /// The numbers of accepted and refused scans of reusable handshakes.
    pub fn scan_metrics(&self) -> ScanMetrics {
        self.scans.counts()
    }

    /// The damaged rows found and set aside since the start; at most 1,000.
    pub fn damaged_rows(&self) -> Vec<DamagedRow> {
        self.core.damaged_rows.rows()
    }

    /// Whether a Lightning backend is configured.
    pub const fn has_lightning(&self) -> bool {
        self.lightning.is_some()
    }

    /// The Lightning backend's configured name and its information about itself; `None` without a backend.
    pub async fn lightning_info(&self) -> Option<(&'static str, Result<LightningInfo, LightningError>)> {
        let LightningBackend { adapter, name, .. } = self.lightning.clone()?;
        Some((name, adapter.info().await))
    }

    /// The Lightning backend's configured name and connection status; `None` without a backend.
    pub fn lightning_status(&self) -> Option<(&'static str, LightningStatus)> {
        self.lightning.as_ref().map(|lightning| (lightning.name, lightning.adapter.status()))
    }

    /// The Lightning node; `None` unless the service runs one itself.
    pub fn lightning_node(&self) -> Option<Arc<dyn LightningNode>> {
        self.lightning.as_ref()?.node.clone()
    }

    /// The numbers of requests to the Lightning backend, by kind and result.
    pub fn lightning_calls(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.lightning_calls.values()
    }
}
