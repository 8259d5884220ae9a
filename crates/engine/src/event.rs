//! What the app is told: events and pages of events.

use std::fmt;
use std::sync::Arc;

use crate::event_data::EventData;
use crate::{OperationOutcome, UnixMillis};

/// The `type` of an event (docs/api.md, Reading events).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// A user completed a key handshake.
    KeyHandshake,
    /// An operation's status changed.
    StatusUpdate,
    /// A subscription was agreed.
    Subscription,
    /// A subscription was closed by the user.
    SubscriptionClosed,
    /// A due date of a subscription was charged, or could not be.
    SubscriptionPayment,
    /// A user's wallet answered an invoice request.
    InvoiceResponse,
    /// A Cashu request or a verification has its result.
    CashuResponse,
}

impl EventType {
    /// Every event type.
    pub const ALL: [Self; 7] = [
        Self::KeyHandshake,
        Self::StatusUpdate,
        Self::Subscription,
        Self::SubscriptionClosed,
        Self::SubscriptionPayment,
        Self::InvoiceResponse,
        Self::CashuResponse,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KeyHandshake => "KeyHandshake",
            Self::StatusUpdate => "StatusUpdate",
            Self::Subscription => "Subscription",
            Self::SubscriptionClosed => "SubscriptionClosed",
            Self::SubscriptionPayment => "SubscriptionPayment",
            Self::InvoiceResponse => "InvoiceResponse",
            Self::CashuResponse => "CashuResponse",
        }
    }

    /// The event type with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An event as an operation emits it; the store gives it its index.
///
/// `Debug` leaves the data out: it may hold session tokens, preimages and ecash.
#[derive(Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its type.
    pub event_type: EventType,
    /// When it happened.
    pub at: UnixMillis,
    /// Its data: the text of a JSON object.
    pub data: Arc<str>,
    /// The outcome of an operation that ends with it; for metrics, not stored.
    pub outcome: OperationOutcome,
}

impl NewEvent {
    /// An event with these data.
    pub fn new(data: &EventData, at: UnixMillis) -> Self {
        Self { event_type: data.event_type(), at, data: data.to_json(), outcome: data.outcome() }
    }

    /// The event at its position in the stream.
    pub fn at_index(self, index: u64) -> Event {
        Event { index, event_type: self.event_type, timestamp: self.at.secs(), data: self.data }
    }
}

impl fmt::Debug for NewEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEvent").field("event_type", &self.event_type).finish_non_exhaustive()
    }
}

/// An event of a stream; it never changes once it has been read.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    /// Position in the stream, from 0, without gaps.
    pub index: u64,
    /// Its type.
    pub event_type: EventType,
    /// Unix seconds.
    pub timestamp: u64,
    /// Its data: the text of a JSON object.
    pub data: Arc<str>,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("index", &self.index)
            .field("event_type", &self.event_type)
            .finish_non_exhaustive()
    }
}

/// Some consecutive events of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The events, in order of index.
    pub events: Vec<Event>,
    /// The `after` to ask with next time.
    pub next: u64,
    /// Earlier events of the stream were removed after their retention, and this page begins at the first that is left, which
    /// has this index. Only where all were asked for (`after` 0).
    pub first: Option<u64>,
    /// Nothing more is expected: the operation is finished, and this page reaches the last event.
    pub done: bool,
}
