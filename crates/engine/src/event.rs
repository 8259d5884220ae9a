//! Events for the app, and pages of events.

use std::sync::Arc;

use crate::event_data::EventData;
pub use crate::event_type::EventType;
use crate::{OperationOutcome, UnixMillis};

/// An event emitted by an operation; the store assigns its index.
///
/// `Debug` omits the data, which may contain session tokens, preimages and ecash.
#[derive(Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its type.
    pub event_type: EventType,
    /// Its time.
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

    /// The event at its index in the stream.
    pub fn at_index(self, index: u64) -> Event {
        Event { index, event_type: self.event_type, timestamp: self.at.secs(), data: self.data }
    }
}

usher_protocol::debug_shows!(NewEvent { event_type });

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

usher_protocol::debug_shows!(Event { index, event_type });

impl Event {
    /// Removes the ticket, if the event has one.
    pub(crate) fn hide_ticket(&mut self) {
        if self.event_type != EventType::CashuResponse {
            return;
        }
        let data = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&self.data);
        if let Ok(mut data) = data
            && data.remove("token").is_some()
        {
            self.data = serde_json::Value::Object(data).to_string().into();
        }
    }
}

/// Consecutive events of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The events, in order of index.
    pub events: Vec<Event>,
    /// The position after this page: `after` if it has no events, even beyond the end.
    pub next: u64,
    /// The index after the stream's last event.
    pub end: u64,
    /// With `after` 0: the index of the first remaining event, if earlier ones were removed after their retention.
    pub first: Option<u64>,
    /// Whether the operation has ended and this page reaches the last event.
    pub done: bool,
    /// If done: until when a `paid` event may still follow, because money may arrive late; `None` if none can.
    pub paid_late_until: Option<UnixMillis>,
}
