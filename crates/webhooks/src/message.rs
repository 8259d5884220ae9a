//! The body of a webhook post (docs/webhooks.md).

use usher_engine::StreamId;
use usher_engine::event::Event;

/// The body: the event and its stream. The data is inserted as stored, so that every attempt has the same bytes.
pub(crate) fn body(stream: StreamId, event: &Event) -> String {
    // Only the data can need escaping; ids, type names and numbers cannot.
    format!(
        r#"{{"stream_id":"{stream}","index":{},"type":"{}","timestamp":{},"data":{}}}"#,
        event.index, event.event_type, event.timestamp, event.data
    )
}

/// The id by which a receiver recognises an event, without a full stop, as Standard Webhooks requires.
pub(crate) fn id(stream: StreamId, event: &Event) -> String {
    format!("{stream}:{}", event.index)
}

#[cfg(test)]
mod tests {
    use usher_engine::event::EventType;

    use super::*;

    #[test]
    fn wire_form_is_pinned_and_has_the_data_verbatim() {
        let event = Event {
            index: 3,
            event_type: EventType::StatusUpdate,
            timestamp: 1_700_000_000,
            data: "{\"status\": \"paid\",\n \"rate\": 1.10}".into(),
        };
        let stream = StreamId::from_parts(1_700_000_000_000, [0xab; 10]);
        assert_eq!(
            body(stream, &event),
            concat!(
                r#"{"stream_id":"018bcfe5-6800-7bab-abab-abababababab","index":3,"type":"StatusUpdate","#,
                "\"timestamp\":1700000000,\"data\":{\"status\": \"paid\",\n \"rate\": 1.10}}"
            )
        );
        assert_eq!(id(stream, &event), "018bcfe5-6800-7bab-abab-abababababab:3");
        assert_eq!(id(StreamId::SUBSCRIPTIONS, &event), "subscriptions:3");
    }
}
