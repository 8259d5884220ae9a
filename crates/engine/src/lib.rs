//! Operations as durable state machines, and what runs them.
//!
//! Everything asynchronous that Usher does is an *operation* ([`operations`]): a pure state machine. The [`Engine`]
//! runs it: one step is one transaction of the [`Store`](ports::Store), and effects happen only after
//! the commit. The interfaces that the engine needs are in [`ports`].

pub mod engine;
pub mod event;
pub mod event_data;
mod event_type;
pub mod field_errors;
pub mod operation_outcome;
pub mod operations;
pub mod ports;
pub mod stream_id;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
mod visitor;

pub use engine::{
    AgeCheckError, AgeCheckReturned, AgeCheckStarted, AuthenticateKey, BrowserLogin, BrowserLoginStarted, BurnTicket,
    CloseHandshakeError, DecisionError, Engine, EngineMetrics, EngineOptions, EngineParts, EventsError, FieldValues,
    HandshakePage, HandshakeState, HandshakeView, IdempotentRequest, KeyHandshakeRequest, KeyHandshakeStarted,
    LightningBackend, Live, LiveEvent, LiveEvents, LoginPageError, LoginPageWatch, LoginRequest, LoginStarted,
    LoginView, LoginVisit, MintTicket, OpenedLogin, OperationMetrics, OutgoingPage, OutgoingTicket, PageRules,
    PayInvoiceRequest, PaymentRules, PaymentView, RecurringPaymentRequest, RedeemError, RenderedResponse,
    RequestInvoice, RequestTicket, RequestVerificationToken, RetryError, ReusableHandshake, ReusablePage, ScanLimit,
    SendTicket, SignerView, SinglePaymentRequest, SpendingRules, StartError, SubscriptionError, SubscriptionFilter,
    SubscriptionPage, TicketCallError, VerificationRules, VerificationSessionStarted, VerificationView, WithdrawTicket,
};
pub use event::{Event, EventPage, EventType};
pub use event_data::EventData;
pub use field_errors::{FieldError, FieldErrors};
pub use operation_outcome::OperationOutcome;
pub use stream_id::StreamId;
pub use time::UnixMillis;
pub use visitor::Visitor;
