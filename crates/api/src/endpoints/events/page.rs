//! Pages of events as JSON.

use std::fmt::Write as _;

use usher_engine::{Event, EventPage};
use utoipa::ToSchema;

/// An event of a stream; it never changes once it has been read.
#[derive(ToSchema)]
#[schema(as = Event)]
#[expect(dead_code, reason = "describes what `write_event` writes")]
pub(crate) struct EventSchema {
    /// Position in the stream, from 0, without gaps.
    #[schema(example = 0)]
    index: u64,
    /// What kind of event it is: `KeyHandshake`, `StatusUpdate`, `Subscription`, `SubscriptionClosed`,
    /// `InvoiceResponse` or `CashuResponse`.
    #[schema(example = "KeyHandshake")]
    r#type: String,
    /// When it happened, in Unix seconds.
    #[schema(example = 1732137600)]
    timestamp: u64,
    /// What happened: see the call that started the stream.
    #[schema(value_type = Object, example = json!({
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "preferred_relays": ["wss://relay.example"],
    }))]
    data: serde_json::Value,
}

/// Some consecutive events of a stream.
#[derive(ToSchema)]
#[schema(as = EventPage)]
#[expect(dead_code, reason = "describes what `write` writes")]
pub(crate) struct PageSchema {
    /// The events, oldest first.
    events: Vec<EventSchema>,
    /// The `after` to ask with next time.
    #[schema(example = 1)]
    next: u64,
    /// Nothing more is expected, and these are the last events.
    #[schema(example = true)]
    done: bool,
}

/// Bytes an event needs beside its data, and a page beside its events; generous, so that nothing is copied twice.
const ENVELOPE: usize = 96;

/// Writes a page.
///
/// By hand: an event's data is JSON text already, and parsing it only to write it again was half the cost of a poll.
pub(crate) fn write(page: &EventPage) -> String {
    let size = page.events.iter().map(|event| ENVELOPE + event.data.len()).sum::<usize>();
    let mut out = String::with_capacity(ENVELOPE + size);
    out.push_str("{\"events\":[");
    for (position, event) in page.events.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write_event(&mut out, event);
    }
    // Writing to a string cannot fail.
    let _ = write!(out, "],\"next\":{},\"done\":{}}}", page.next, page.done);
    out
}

/// Writes an event.
pub(crate) fn write_event(out: &mut String, event: &Event) {
    let Event { index, event_type, timestamp, data } = event;
    let _ = write!(out, "{{\"index\":{index},\"type\":\"{event_type}\",\"timestamp\":{timestamp},\"data\":{data}}}");
}
