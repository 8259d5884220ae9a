//! `GET /events`: the live feed of every stream, as server-sent events.

use std::convert::Infallible;
use std::fmt::Write as _;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use tracing::{Instrument as _, Span};
use usher_engine::{Live, LiveEvent, LiveEvents};
use usher_places::Place;

use super::sse::HEADERS;
use crate::ApiState;
use crate::auth::Authorization;
use crate::problem::Problem;

/// Most events in one piece of the response: a slow reader holds no more than these.
const BATCH: usize = 100;

/// Bytes an event needs beside its data: two stream ids, numbers and names; generous, so that nothing is copied twice.
const ENVELOPE: usize = 384;

/// Streams the events of all streams as they happen, for development.
///
/// The response consists of server-sent events and ends when the client disconnects. `id` is `stream_id:index`,
/// `event` the type, `data` what the webhook gets. The stream begins now and cannot be resumed: a client that reads
/// too slowly gets `event: missed` with the number of events that it missed. An app that must not miss an event reads
/// its streams (`GET /events/{stream_id}`) or uses a webhook.
#[utoipa::path(
    get,
    path = "/events",
    responses(
        (status = 200, description = "Events as they happen.", content((String = "text/event-stream", example =
            "id: 0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b:0\nevent: StatusUpdate\n\
            data: {\"stream_id\":\"0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b\",\"index\":0,\"type\":\"StatusUpdate\",\
            \"timestamp\":1732137600,\"data\":{\"status\":\"declined\"}}\n\n"))),
        (status = 503, description = "`overloaded`: `limits.max_event_streams` is reached."),
    ),
)]
pub(crate) async fn stream_all_events(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
) -> Result<Response, Problem> {
    let place = state.event_streams.take(authorization.origin())?;
    let events = state.engine.events().live(authorization.requester());
    let span = Span::current();
    let watch = Watch { state, events, begun: false, _place: place };
    let body = Body::from_stream(stream::unfold(watch, move |watch| watch.chunk().instrument(span.clone())));
    Ok((HEADERS, body).into_response())
}

/// The live feed on its way to a client.
struct Watch {
    state: ApiState,
    events: LiveEvents,
    begun: bool,
    _place: Place,
}

impl Watch {
    /// The next piece of the response, and the remaining state; `None` at its end.
    async fn chunk(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !std::mem::replace(&mut self.begun, true) {
            // Announces the start: events from here on are shown.
            return Some((Ok(Bytes::from_static(b":\n\n")), self));
        }
        let first = tokio::select! {
            biased;
            () = self.state.stop.cancelled() => return None,
            live = tokio::time::timeout(self.state.limits.keep_alive, self.events.next()) => live,
        };
        let mut out = String::new();
        match first {
            Ok(live) => write(&mut out, &live?),
            Err(_) => out.push_str(":\n\n"),
        }
        for _ in 0..BATCH {
            let Some(live) = self.events.ready() else { break };
            write(&mut out, &live);
        }
        Some((Ok(out.into()), self))
    }
}

/// Writes an entry of the feed in the format of server-sent events.
fn write(out: &mut String, live: &Live) {
    // Writing to a string cannot fail.
    match live {
        Live::Event(live) => write_event(out, live),
        Live::Missed(count) => {
            let _ = write!(out, "event: missed\ndata: {{\"missed\":{count}}}\n\n");
        }
    }
}

fn write_event(out: &mut String, live: &LiveEvent) {
    let LiveEvent { stream, event } = live;
    out.reserve(ENVELOPE + event.data.len());
    let _ = write!(out, "id: {stream}:{}\nevent: {}\n", event.index, event.event_type);
    let _ = write!(
        out,
        "data: {{\"stream_id\":\"{stream}\",\"index\":{},\"type\":\"{}\",\"timestamp\":{},\"data\":",
        event.index, event.event_type, event.timestamp
    );
    // A line break ends a field. In JSON text it can stand between values only, where a reader has it back.
    for (number, line) in event.data.split(['\n', '\r']).enumerate() {
        let _ = if number == 0 { write!(out, "{line}") } else { write!(out, "\ndata: {line}") };
    }
    out.push_str("}\n\n");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use usher_engine::{Event, EventType, StreamId};

    use super::*;

    #[test]
    fn live_events_are_written_as_sse() {
        let event =
            Event { index: 3, event_type: EventType::StatusUpdate, timestamp: 9, data: "{\"a\":\r\n 1}".into() };
        let mut out = String::new();
        write(&mut out, &Live::Event(Arc::new(LiveEvent { stream: StreamId::SUBSCRIPTIONS, event })));
        write(&mut out, &Live::Missed(7));
        insta::assert_snapshot!(out, @r#"
        id: subscriptions:3
        event: StatusUpdate
        data: {"stream_id":"subscriptions","index":3,"type":"StatusUpdate","timestamp":9,"data":{"a":
        data: 
        data:  1}}

        event: missed
        data: {"missed":7}
        "#);
    }
}
