//! `GET /events/{stream_id}`

use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, body::Body};
use http::{HeaderMap, StatusCode, header};
use usher_engine::{EventPage, EventsError, FieldError, FieldErrors, ShownStream, StreamId};

use super::event_json::{self, MAX_INDEX};
use super::sse;
use crate::ApiState;
use crate::auth::{self, Authorization};
use crate::middleware::DeadlineExtension;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;
use crate::query::{self, Query};
use crate::remarks::Remarks;
use crate::request_log;

/// Most events in one response.
const MAX_LIMIT: u64 = 1_000;
/// The longest a call is held, in seconds: what proxies let pass as they come.
const MAX_WAIT: u64 = 60;

/// The query.
#[derive(Debug, PartialEq, Eq)]
struct Parameters {
    after: u64,
    limit: usize,
    wait: Duration,
}

impl Parameters {
    /// Reads them. `last_event_id` is checked in any case, and counts when `streaming`.
    fn read(query: &Query<'_>, last_event_id: Option<&str>, streaming: bool) -> Result<Self, Vec<FieldError>> {
        let mut errors = FieldErrors::default();
        let after = query.integer("after", 0..=MAX_INDEX, &mut errors);
        let limit = query.integer("limit", 1..=MAX_LIMIT, &mut errors).unwrap_or(MAX_LIMIT);
        let wait = query.integer("wait", 0..=MAX_WAIT, &mut errors).unwrap_or(0);
        let resume_at = last_event_id.and_then(|id| {
            let last = query::integer(id, &(0..=MAX_INDEX));
            last.map(|last| last + 1).or_else(|| errors.reject("/Last-Event-ID", query::must_be(&(0..=MAX_INDEX))))
        });
        let after = resume_at.filter(|_| streaming).or(after).unwrap_or(0);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        errors.finish(Some(Self { after, limit, wait: Duration::from_secs(wait) }))
    }
}

/// Reads the events of a stream.
///
/// Returns the events with `index >= after`, oldest first. In the next request, set `after` to `next` of the response;
/// stop when `done` is true. (A payment that ended unpaid may get one late `paid` after that.) Events never change, so a
/// request can be repeated freely.
///
/// There are three ways to get the same events. A plain request returns at once. With `wait`, the request stays open
/// until an event arrives (long polling). With `Accept: text/event-stream`, events are sent as they happen: `id` is
/// the index, `event` the type, `data` the event as JSON; comments keep the connection alive, and the response ends
/// when the stream is done. To resume, send `Last-Event-ID`, which takes precedence over `after`; 204 means that the
/// stream is done and you have its events, so that an `EventSource` must not reconnect.
#[utoipa::path(
    get,
    path = "/events/{stream_id}",
    params(
        ("stream_id" = String, Path, description = "The `stream_id` of the request that started the operation, or `subscriptions`."),
        ("after" = Option<u64>, Query, minimum = 0, maximum = 9007199254740991_i64,
            description = "The first index to return: 0 for all events, then `next` of the last response. Default 0."),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 1000,
            description = "Most events in the response. Default 1000. Not for event streams."),
        ("wait" = Option<u64>, Query, minimum = 0, maximum = 60,
            description = "How long to wait for an event, in seconds. Default 0. Not for event streams."),
        ("Last-Event-ID" = Option<String>, Header, format = "event-id", pattern = "^[0-9]*$", example = "0",
            description = "Event streams: the last index received, from 0 to 9007199254740991. Empty if there was none."),
    ),
    responses(
        (status = 200, description = "The events.", content(
            (event_json::PageSchema = "application/json", example = json!({
                "events": [{
                    "index": 0,
                    "type": "KeyHandshake",
                    "timestamp": 1732137600,
                    "data": {
                        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
                        "preferred_relays": ["wss://relay.example"],
                    },
                }],
                "next": 1,
                "done": true,
            })),
            (String = "text/event-stream", example = "id: 0\nevent: StatusUpdate\n\
                data: {\"index\":0,\"type\":\"StatusUpdate\",\"timestamp\":1732137600,\"data\":{\"status\":\"declined\"}}\n\n"),
        )),
        (status = 204, description = "Event streams: the stream is done, and everything in it was received."),
        (status = 404, description = "`stream_not_found`: There is no such stream, or it was removed after \
            `streams.retention_days`."),
        (status = 410, description = "`events_removed`: The event at `after` (not 0) was removed after \
            `streams.retention_days`, on a stream that does not end (`subscriptions`, or a reusable handshake's). `first` is the \
            first index that is left: continue there, and note that you missed events."),
        (status = 503, description = "`storage_unavailable`\n\n\
            `overloaded`: `limits.max_long_polls` or `limits.max_event_streams` is reached."),
    ),
)]
pub(crate) async fn read_events(
    State(state): State<ApiState>,
    PathParameter(stream): PathParameter<StreamId>,
    RawQuery(query): RawQuery,
    Extension(patience): Extension<DeadlineExtension>,
    Extension(authorization): Extension<Authorization>,
    Extension(remarks): Extension<Remarks>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let streaming = wants_event_stream(&headers);
    // An `EventSource` that has had no event has an empty one, which it does not send; some of those rebuilt from it do.
    let last_event_id = headers.get("last-event-id").filter(|id| !id.is_empty()).map(|id| id.to_str().unwrap_or("?"));
    let parameters = {
        let query = Query::new(query.as_deref());
        let parameters = Parameters::read(&query, last_event_id, streaming);
        query.note_ignored(&remarks);
        parameters.map_err(Problem::invalid)?
    };
    // A malformed stream id gets the same 404 as an unknown one, so that an app has one case to handle.
    let stream = stream.ok_or(EventsError::NotFound)?;
    request_log::record_stream_id(&stream);
    let stream = state.engine.events().shown(&authorization.requester(), stream).await?;

    if streaming {
        return sse::open(&state, &authorization, stream, parameters.after).await;
    }
    let page = if parameters.wait.is_zero() {
        state.engine.events().read(stream, parameters.after, parameters.limit).await?
    } else {
        patience.extend(parameters.wait);
        long_poll(&state, &authorization, stream, &parameters).await?
    };
    let body = Body::from(event_json::write(&page));
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Waits for events; returns those there are when the service stops, and the client continues with the next process.
async fn long_poll(
    state: &ApiState,
    authorization: &Authorization,
    stream: ShownStream,
    parameters: &Parameters,
) -> Result<EventPage, Problem> {
    let Parameters { after, limit, wait } = *parameters;
    let _place = state.long_polls.take(authorization.origin())?;
    let revoked = authorization.revoked();
    tokio::select! {
        biased;
        page = state.engine.events().wait(stream, after, limit, wait) => Ok(page?),
        () = revoked.cancelled() => Err(auth::revoked()),
        () = state.stop.cancelled() => Ok(state.engine.events().read(stream, after, limit).await?),
    }
}

/// Whether `Accept` names `text/event-stream` itself: a wildcard means that anything will do, and JSON is our anything.
fn wants_event_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("text/event-stream"));
        let refused = parts.any(|part| {
            let quality = part.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
            quality.is_some_and(|(_, value)| value.trim().parse() == Ok(0.0_f32))
        });
        named && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_read_from_the_start_without_waiting() {
        let expected = Parameters { after: 0, limit: 1_000, wait: Duration::ZERO };
        assert_eq!(Parameters::read(&Query::new(None), None, true), Ok(expected));
    }

    #[test]
    fn largest_last_event_id_is_accepted() {
        let largest = MAX_INDEX.to_string();
        let query = Query::new(Some("after=3"));
        let parameters = Parameters::read(&query, Some(&largest), true).unwrap();
        assert_eq!(parameters.after, MAX_INDEX + 1);
        assert_eq!(Parameters::read(&query, Some(&largest), false).unwrap().after, 3);
    }
}
