//! The engine runs operations.
//!
//! [`Engine`] is its public face (`public_methods`). The work is done by parts, each with its own state and a small interface; `wiring`
//! shows who uses whom. Data flows one way:
//!
//! ```text
//! start ──────────────┐
//! inbox ───────┐      │
//! alarms ──────┼─▶ inputs ─▶ workers ─▶ commit ─▶ event feed, outbox, invoice watcher, Lightning queue,
//! Lightning ───┤                                  ticket queue, webhook dispatcher, index, timers
//! tickets ─────┘
//! ```
//!
//! A part that has something for an operation puts it into `inputs`; no part holds the engine itself.

mod admission;
mod age_check_queue;
mod alarms;
mod bounded_cache;
mod browser_logins;
mod capacity;
mod cleanup;
mod clock_changes;
mod commit;
mod damaged_rows;
mod errors;
mod event_feed;
#[cfg(test)]
mod fixtures;
mod handshake_urls;
mod idempotency;
mod ids;
mod inbox;
mod index;
mod inputs;
mod invoice_watcher;
mod lightning_metrics;
mod lightning_notifications;
mod lightning_queue;
mod login_codes;
mod login_methods;
mod logins;
mod metrics;
mod new_logins;
mod open_deliveries;
mod operation_pages;
mod outbox;
mod public_methods;
mod restore;
mod reusable_handshakes;
mod reusable_logins;
mod scan_limits;
mod signer_places;
mod signer_queue;
mod spending_budget;
mod start;
mod subscriptions;
mod tasks;
mod ticket_metrics;
mod ticket_queue;
mod tickets;
mod timers;
mod verification_sessions;
mod visitor_shares;
mod webhook_dispatcher;
mod wiring;
mod workers;

use std::sync::Arc;

use self::damaged_rows::Damage;
pub use self::errors::{EventsError, StartError, TicketCallError};
use self::event_feed::EventFeed;
pub use self::event_feed::{Live, LiveEvent, LiveEvents};
use self::idempotency::IdempotencyRecords;
pub use self::idempotency::{IdempotentRequest, RenderedResponse};
use self::index::Index;
use self::invoice_watcher::InvoiceWatcher;
use self::lightning_metrics::LightningMetrics;
pub use self::lightning_queue::LightningBackend;
pub use self::login_codes::RedeemError;
use self::logins::Logins;
pub use self::logins::{LoginPageError, LoginPageWatch, LoginView, OpenedLogin, ReusablePage, SignerView};
use self::metrics::Metrics;
pub use self::metrics::{EngineMetrics, OperationMetrics};
use self::operation_pages::OperationPages;
pub use self::operation_pages::{HandshakeState, HandshakeView, PaymentView};
use self::reusable_handshakes::ReusableHandshakes;
pub use self::reusable_handshakes::{CloseHandshakeError, HandshakePage, ReusableHandshake};
pub use self::scan_limits::ScanLimit;
use self::scan_limits::ScanLimits;
pub use self::spending_budget::SpendingRules;
pub use self::start::{
    AuthenticateKey, BrowserLogin, BrowserLoginStarted, FieldValues, KeyHandshakeRequest, KeyHandshakeStarted,
    LoginRequest, LoginStarted, LoginVisit, PageRules, PayInvoiceRequest, PaymentRules, RecurringPaymentRequest,
    RequestInvoice, RequestTicket, RequestVerificationToken, SendTicket, SinglePaymentRequest, VerificationRules,
    VerificationSessionStarted,
};
use self::start::{FieldChecks, Starter};
use self::subscriptions::Subscriptions;
pub use self::subscriptions::{SubscriptionError, SubscriptionFilter, SubscriptionPage};
use self::tasks::Tasks;
pub use self::tickets::{BurnTicket, MintTicket, OutgoingPage, OutgoingTicket, WithdrawTicket};
use self::tickets::{OutgoingTickets, Tickets};
use self::verification_sessions::VerificationSessions;
pub use self::verification_sessions::{
    AgeCheckError, AgeCheckReturned, AgeCheckStarted, DecisionError, VerificationView,
};
pub use self::webhook_dispatcher::RetryError;
use self::webhook_dispatcher::WebhookDispatcher;
pub use self::wiring::{EngineOptions, EngineParts};
/// Runs operations.
pub struct Engine {
    tasks: Tasks,
    metrics: Arc<Metrics>,
    damage: Arc<Damage>,
    feed: Arc<EventFeed>,
    watcher: Arc<InvoiceWatcher>,
    lightning: Option<LightningBackend>,
    lightning_metrics: Arc<LightningMetrics>,
    idempotency: Arc<IdempotencyRecords>,
    subscriptions: Arc<Subscriptions>,
    checks: Arc<FieldChecks>,
    starter: Arc<Starter>,
    tickets: Tickets,
    outgoing: OutgoingTickets,
    index: Arc<Index>,
    webhooks: Arc<WebhookDispatcher>,
    reusable_handshakes: Arc<ReusableHandshakes>,
    scans: Arc<ScanLimits>,
    verification_sessions: Arc<VerificationSessions>,
    logins: Arc<Logins>,
    pages: OperationPages,
}
