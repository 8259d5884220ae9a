//! Pages of events as JSON.

use std::fmt::Write as _;

use usher_engine::{Event, EventData, EventPage};
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
    /// `SubscriptionPayment`, `InvoiceResponse` or `CashuResponse`.
    #[schema(example = "KeyHandshake")]
    r#type: String,
    /// When it happened, in Unix seconds.
    #[schema(example = 1732137600)]
    timestamp: u64,
    data: EventData,
}

/// Consecutive events of a stream.
#[derive(ToSchema)]
#[schema(as = EventPage)]
#[expect(dead_code, reason = "describes what `write` writes")]
pub(crate) struct PageSchema {
    /// The events, oldest first.
    events: Vec<EventSchema>,
    /// The `after` for the next request.
    #[schema(example = 1)]
    next: u64,
    /// The first index that is left, if earlier events were removed after `streams.retention_days`. Only where `after`
    /// is 0.
    #[schema(nullable = false, example = 0)]
    first: Option<u64>,
    /// The operation has ended, and these are its last events. Only a payment that ended unpaid may get one more, a
    /// late `paid`.
    #[schema(example = true)]
    done: bool,
    /// With `done`, if `paid` may still follow because money may still arrive: until when, in Unix seconds. While the Lightning
    /// backend cannot be reached, it may follow later.
    #[schema(nullable = false)]
    paid_late_until: Option<u64>,
}

/// The largest index: what JSON carries exactly everywhere (RFC 8259 section 6).
pub(crate) const MAX_INDEX: u64 = (1 << 53) - 1;

/// Bytes an event needs beside its data, and a page beside its events; generous, so that nothing is copied twice.
pub(crate) const ENVELOPE: usize = 128;

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
    let _ = write!(out, "],\"next\":{}", page.next.min(page.end));
    if let Some(first) = page.first {
        let _ = write!(out, ",\"first\":{first}");
    }
    let _ = write!(out, ",\"done\":{}", page.done);
    if let Some(until) = page.paid_late_until {
        let _ = write!(out, ",\"paid_late_until\":{}", until.secs());
    }
    out.push('}');
    out
}

/// Writes an event.
pub(crate) fn write_event(out: &mut String, event: &Event) {
    let Event { index, event_type, timestamp, data } = event;
    let _ = write!(out, "{{\"index\":{index},\"type\":\"{event_type}\",\"timestamp\":{timestamp},\"data\":{data}}}");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use usher_engine::{EventType, UnixMillis};

    use super::*;

    #[test]
    fn page_has_the_documented_json_shape() {
        let event =
            |index, data: &str| Event { index, event_type: EventType::StatusUpdate, timestamp: 9, data: data.into() };
        let nothing =
            EventPage { events: Vec::new(), next: 99, end: 3, first: None, done: false, paid_late_until: None };
        let some = EventPage {
            events: vec![event(4, r#"{"status":"a\"\\\n"}"#), event(5, "{}")],
            next: 6,
            end: 6,
            first: Some(4),
            done: true,
            paid_late_until: Some(UnixMillis(86_400_999)),
        };
        let events = json!([
            { "index": 4, "type": "StatusUpdate", "timestamp": 9, "data": { "status": "a\"\\\n" } },
            { "index": 5, "type": "StatusUpdate", "timestamp": 9, "data": {} },
        ]);
        for (page, expected) in [
            (nothing, json!({ "events": [], "next": 3, "done": false })),
            (some, json!({ "events": events, "next": 6, "first": 4, "done": true, "paid_late_until": 86_400 })),
        ] {
            assert_eq!(serde_json::from_str::<Value>(&write(&page)).unwrap(), expected);
        }
    }
}
