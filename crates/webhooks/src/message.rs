//! The body of a webhook post (docs/webhooks.md).

use usher_engine::StreamId;
use usher_engine::event::Event;

/// The body: the event plus its stream. The data is inserted as it is stored, so that every attempt has the same bytes.
pub(crate) fn body(stream: StreamId, event: &Event) -> String {
    // Nothing but the data can hold a character that JSON would escape: ids, type names and numbers.
    format!(
        r#"{{"stream_id":"{stream}","index":{},"type":"{}","timestamp":{},"data":{}}}"#,
        event.index, event.event_type, event.timestamp, event.data
    )
}

/// The id by which a receiver recognises an event. It contains no full stop, which Standard Webhooks forbids in an id.
pub(crate) fn id(stream: StreamId, event: &Event) -> String {
    format!("{stream}:{}", event.index)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use usher_engine::event::EventType;

    use super::*;

    proptest! {
        #[test]
        fn body_is_json_with_the_event_data_verbatim(
            (millis, random) in (any::<u64>(), any::<[u8; 10]>()),
            index in any::<u64>(),
            event_type in prop::sample::select(&EventType::ALL[..]),
            timestamp in any::<u64>(),
            data in prop::collection::btree_map(".*", (".*", any::<f64>(), any::<Option<u64>>()), 0..6),
            pretty in any::<bool>(),
        ) {
            let (stream, data) = (StreamId::from_parts(millis, random), json!(data));
            let text = if pretty { serde_json::to_string_pretty(&data) } else { serde_json::to_string(&data) }.unwrap();
            let event = Event { index, event_type, timestamp, data: text.as_str().into() };

            let body = body(stream, &event);

            let parsed: Value = serde_json::from_str(&body).unwrap();
            // The data is compared as its own text reads: reading a float may round.
            let data: Value = serde_json::from_str(&text).unwrap();
            let expected = json!({
                "stream_id": stream.to_string(), "index": index, "type": event_type.as_str(), "timestamp": timestamp, "data": data,
            });
            prop_assert_eq!(parsed, expected);
            let tail = format!(",\"data\":{text}}}");
            prop_assert!(body.ends_with(&tail));
            prop_assert_eq!(body, super::body(stream, &event));
            prop_assert!(!id(stream, &event).contains('.'));
        }
    }

    #[test]
    fn wire_form_is_pinned() {
        let event = Event {
            index: 3,
            event_type: EventType::StatusUpdate,
            timestamp: 1_700_000_000,
            data: r#"{"status": "paid"}"#.into(),
        };
        let stream = StreamId::from_parts(1_700_000_000_000, [0xab; 10]);
        assert_eq!(
            body(stream, &event),
            concat!(
                r#"{"stream_id":"018bcfe5-6800-7bab-abab-abababababab","index":3,"type":"StatusUpdate","#,
                r#""timestamp":1700000000,"data":{"status": "paid"}}"#
            )
        );
        assert_eq!(id(stream, &event), "018bcfe5-6800-7bab-abab-abababababab:3");
        assert_eq!(id(StreamId::SUBSCRIPTIONS, &event), "subscriptions:3");
    }
}
