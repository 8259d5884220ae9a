//! Operations as durable state machines, and the engine that runs them.
//!
//! Everything asynchronous that Usher does is an *operation* ([`operations`]): a pure state machine. The [`Engine`]
//! runs it: one step is one transaction of the [`Store`](ports::Store), and effects happen only after
//! the commit. The interfaces that the engine needs are in [`ports`].

pub mod access;
pub mod audit;
mod client_network;
mod engine;
pub mod event;
pub mod event_data;
mod event_type;
pub mod field_errors;
mod field_value_checks;
mod kernel;
mod login;
mod machine;
mod operation_outcome;
pub mod operations;
mod origin;
mod page;
mod page_rules;
mod payment;
pub mod ports;
mod price;
mod registry;
pub mod request_body;
pub mod stream_id;
mod subscription;
// The fakes of `crates/testing`, compiled again: unit tests cannot use a crate that depends on this one.
#[cfg(test)]
#[path = "../../testing/src/ports/mod.rs"]
pub mod testing;
mod ticket;
pub mod time;
mod user;
mod verification;
mod webhook_test;

#[cfg(test)]
extern crate self as usher_engine;

pub use client_network::{ClientNetwork, PageRequestSource};
pub use engine::Engine;
pub use engine::options::{EngineOptions, EngineParts};
pub use event::{Event, EventPage, EventType};
pub use event_data::EventData;
pub use field_errors::{FieldError, FieldErrors, IgnoredMember};
pub use field_value_checks::{CheckedRequest, FieldChecks};
pub use kernel::event_feed::{EventFeed, Live, LiveEvent, LiveEvents, ShownStream};
pub use kernel::idempotency::{IdempotencyRecords, IdempotentRequest, RenderedResponse};
pub use kernel::lightning_queue::LightningBackend;
pub use kernel::metrics::{EngineMetrics, OperationMetrics};
pub use kernel::pending_audit::PendingAudit;
pub use kernel::request_errors::{EventsError, StartError, TicketCallError};
pub use kernel::requester::Requester;
pub use kernel::user_erasure::{ErasedUser, ErasurePosition, KeptOfUser, KeptReason, SearchedUntil};
pub use kernel::webhook_dispatcher::{RetryError, WebhookDispatcher};
pub use login::Logins;
pub use login::authentication::start::AuthenticateKey;
pub use login::codes::RedeemError;
pub use login::key_handshake::page::{HandshakeState, HandshakeView};
pub use login::key_handshake::reusable::{CloseHandshakeError, Handshakes, ReusableHandshake};
pub use login::key_handshake::start::{KeyHandshakeRequest, KeyHandshakeStarted};
pub use login::page_view::{
    AskError, AskLimit, LoginPageError, LoginPageWatch, LoginView, OpenedLogin, PageSigner, ProveError, ReusablePage,
    SignerView, VisitError,
};
pub use login::passkey_ceremonies::{PasskeyLoginError, PasskeyUse};
pub use login::passkeys::{PasskeyProof, WrappedKey};
pub use login::scan_limits::{ScanLimit, ScanMetrics};
pub use login::start::{BrowserLogin, BrowserLoginStarted, ChildLogin, LoginRequest, LoginStarted};
pub use login::unused_logins::NoRoom;
pub use machine::Budget;
pub use operation_outcome::OperationOutcome;
pub use origin::Origin;
pub use page::{Order, Page};
pub use page_rules::PageRules;
pub use payment::Payments;
pub use payment::approval::decide::{DecideError, PaymentPurpose, WaitingPayment};
pub use payment::approval::decision::Decision;
pub use payment::configured_rules::PaymentRules;
pub use payment::invoice_request::{InvoiceContent, RequestInvoice};
pub use payment::link::error::LinkError;
pub use payment::link::links::{CloseLinkError, ListedLink};
pub use payment::link::page::LinkView;
pub use payment::link::pay::{LinkPaymentStarted, LnurlInvoice, LnurlOffer, MAX_COMMENT_CHARS};
pub use payment::link::start::{PaymentLinkCreated, PaymentLinkRequest, PaymentLinks};
pub use payment::on_chain::start::SendOnChainRequest;
pub use payment::page::PaymentView;
pub use payment::pay_invoice::PayInvoiceRequest;
pub use payment::refund::RefundInvoiceFault;
pub use payment::refund::page::{RefundInvoiceError, RefundView};
pub use payment::refund::start::{RefundError, RefundRequest};
pub use payment::spending_budget::SpendingRules;
pub use payment::start::SinglePaymentRequest;
pub use price::{Price, PriceUnit, PricedOperation};
pub use stream_id::StreamId;
pub use subscription::request::RecurringPaymentRequest;
pub use subscription::subscriptions::{SubscriptionError, SubscriptionFilter, Subscriptions};
pub use ticket::delivery::SendTicket;
pub use ticket::request::RequestTicket;
pub use ticket::tickets::{BurnTicket, MintTicket, Tickets, WithdrawTicket};
pub use time::UnixMillis;
pub use user::UserView;
pub use usher_passkey::RelyingParty;
pub use verification::Verification;
pub use verification::open_sessions::{
    AgeCheckError, AgeCheckReturned, AgeCheckStarted, BeginCheckError, DecisionError, OpenVerification,
    VerificationView,
};
pub use verification::rules::VerificationRules;
pub use verification::start::{VerificationSessionRequest, VerificationSessionStarted};
pub use verification::token_request::RequestVerificationToken;
