//! The engine: its public face ([`Engine`]) and the wiring of its parts.

mod public_methods;
pub(crate) mod wiring;

use std::sync::Arc;

use crate::field_checks::FieldChecks;
use crate::kernel::damaged_rows::Damage;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::idempotency::IdempotencyRecords;
use crate::kernel::index::Index;
use crate::kernel::invoice_watcher::InvoiceWatcher;
use crate::kernel::lightning_metrics::LightningMetrics;
use crate::kernel::lightning_queue::LightningBackend;
use crate::kernel::metrics::Metrics;
use crate::kernel::tasks::Tasks;
use crate::kernel::webhook_dispatcher::WebhookDispatcher;
use crate::login::key_handshake::reusable::ReusableHandshakes;
use crate::login::pages::Logins;
use crate::login::scan_limits::ScanLimits;
use crate::operation_pages::OperationPages;
use crate::starter::Starter;
use crate::subscription::subscriptions::Subscriptions;
use crate::ticket::outgoing::OutgoingTickets;
use crate::ticket::tickets::Tickets;
use crate::verification::sessions::VerificationSessions;

/// Runs operations.
pub struct Engine {
    pub(crate) tasks: Tasks,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) damage: Arc<Damage>,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) lightning: Option<LightningBackend>,
    pub(crate) lightning_metrics: Arc<LightningMetrics>,
    pub(crate) idempotency: Arc<IdempotencyRecords>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) checks: Arc<FieldChecks>,
    pub(crate) starter: Arc<Starter>,
    pub(crate) tickets: Tickets,
    pub(crate) outgoing: OutgoingTickets,
    pub(crate) index: Arc<Index>,
    pub(crate) webhooks: Arc<WebhookDispatcher>,
    pub(crate) reusable_handshakes: Arc<ReusableHandshakes>,
    pub(crate) scans: Arc<ScanLimits>,
    pub(crate) verification_sessions: Arc<VerificationSessions>,
    pub(crate) logins: Arc<Logins>,
    pub(crate) pages: OperationPages,
}
