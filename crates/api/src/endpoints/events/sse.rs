//! Server-sent events (the HTML standard, section 9.2).

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderName, StatusCode, header};
use tracing::{Instrument as _, Span};
use usher_engine::{EventPage, EventsError, ShownStream};
use usher_places::Place;

use super::event_json;
use crate::ApiState;
use crate::auth::Authorization;
use crate::problem::Problem;

/// Most events that are read at a time: a slow reader holds no more than these.
const BATCH: usize = 100;

/// Of a response with events. The second one tells proxies not to buffer it; nginx and compatible proxies obey it.
pub(super) const HEADERS: [(HeaderName, &str); 2] =
    [(header::CONTENT_TYPE, "text/event-stream"), (HeaderName::from_static("x-accel-buffering"), "no")];

/// Responds with a stream's events from `after` on, as they are committed.
pub(super) async fn open(
    state: &ApiState,
    authorization: &Authorization,
    stream: ShownStream,
    after: u64,
) -> Result<Response, Problem> {
    let place = state.event_streams.take(authorization.origin())?;
    let first = state.engine.events().read(stream, after, BATCH).await?;
    if first.done && first.events.is_empty() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let span = Span::current();
    let feed = Feed { state: state.clone(), stream, next: after, ready: Some(first), over: false, _place: place };
    let body = Body::from_stream(stream::unfold(feed, move |feed| feed.chunk().instrument(span.clone())));
    Ok((HEADERS, body).into_response())
}

/// An event stream on its way to a client.
struct Feed {
    state: ApiState,
    stream: ShownStream,
    next: u64,
    /// A page that is not written yet.
    ready: Option<EventPage>,
    over: bool,
    _place: Place,
}

impl Feed {
    /// The next piece of the response, and the remaining state; `None` at its end.
    async fn chunk(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.over {
            return None;
        }
        let page = match self.ready.take() {
            Some(page) => page,
            None => self.wait(self.state.limits.keep_alive).await?,
        };
        self.next = page.next;
        self.over = page.done;
        let text = if page.events.is_empty() { ":\n\n".to_owned() } else { write(&page) };
        Some((Ok(text.into()), self))
    }

    /// The next page: empty after some time without events; `None` if the response must end here.
    async fn wait(&self, patience: Duration) -> Option<EventPage> {
        let page = tokio::select! {
            biased;
            // First: an engine that stops with us answers every wait at once. The client resumes at the next service.
            () = self.state.stop.cancelled() => return None,
            page = self.state.engine.events().wait(self.stream, self.next, BATCH, patience) => page,
        };
        match page {
            Ok(page) => Some(page),
            Err(EventsError::NotFound) => None,
            Err(error @ (EventsError::Removed { .. } | EventsError::Damaged { .. } | EventsError::Store(_))) => {
                // The head is sent, so the response can only end. The client resumes and gets the error then.
                tracing::error!(error = &error as &dyn std::error::Error, "an event stream was aborted");
                None
            }
        }
    }
}

/// A page in the format of an event stream. Removed events are reported first, without an id, because a client cannot
/// resume after them.
fn write(page: &EventPage) -> String {
    let mut out = String::new();
    let mut json = String::new();
    if let Some(first) = page.first {
        let _ = write!(out, "event: removed\ndata: {{\"first\":{first}}}\n\n");
    }
    for event in &page.events {
        // Writing to a string cannot fail.
        let _ = write!(out, "id: {}\nevent: {}\n", event.index, event.event_type);
        json.clear();
        event_json::write_event(&mut json, event);
        // A line break ends a field. In JSON text it can stand between values only, where a reader may have it back.
        for line in json.split(['\n', '\r']) {
            let _ = writeln!(out, "data: {line}");
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use usher_engine::{Event, EventType};

    use super::*;

    #[test]
    fn events_are_written_as_sse() {
        let event =
            |index, data: &str| Event { index, event_type: EventType::StatusUpdate, timestamp: 9, data: data.into() };
        // Line breaks between values are JSON; each line is a field of its own then.
        let events = vec![event(0, "{}"), event(1, "{\"a\":\r\n 1,\n\"b\\n\":2}")];
        let page = EventPage { events, next: 2, end: 2, first: None, done: false, paid_late_until: None };
        insta::assert_snapshot!(write(&page), @r#"
        id: 0
        event: StatusUpdate
        data: {"index":0,"type":"StatusUpdate","timestamp":9,"data":{}}

        id: 1
        event: StatusUpdate
        data: {"index":1,"type":"StatusUpdate","timestamp":9,"data":{"a":
        data: 
        data:  1,
        data: "b\n":2}}
        "#);
    }
}
