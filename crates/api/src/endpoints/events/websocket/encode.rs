//! Encodes the messages to a client: a JSON object each.
//!
//! Written by hand, around text that is JSON already.

use std::fmt::Write as _;

use axum::body::Body;
use axum::response::Response;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http_body_util::BodyExt as _;
use usher_engine::{Event, StreamId};

use crate::endpoints::events::event_json;
use crate::idempotency::IDEMPOTENCY_REPLAYED;
use crate::remarks::{USHER_IGNORED, USHER_WARNING};

/// A command was done, and this came of it.
pub(super) fn success(id: &str, data: &str) -> String {
    format!("{{\"id\":{},\"type\":\"success\",\"data\":{data}}}", quoted(id))
}

/// The response to a command that is an HTTP request.
pub(super) async fn response(id: Option<&str>, response: Response) -> String {
    let id = id.map_or_else(|| "null".to_owned(), quoted);
    let mut out = format!("{{\"id\":{id},");
    tell(&mut out, response, Some("data")).await;
    out
}

/// A subscription has ended with an error.
pub(super) async fn subscription_failed(stream: StreamId, problem: Response) -> String {
    let mut out = format!("{{\"stream_id\":\"{stream}\",");
    tell(&mut out, problem, None).await;
    out
}

/// Something happened on a stream. The event's own `type` is called `event_type` here, where `type` says what kind of
/// message this is.
pub(super) fn event(stream: StreamId, event: &Event) -> String {
    let mut out = String::with_capacity(event_json::ENVELOPE * 2 + event.data.len());
    let Event { index, event_type, timestamp, data } = event;
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{{\"type\":\"event\",\"stream_id\":\"{stream}\",\"index\":{index},\"event_type\":\"{event_type}\",\
         \"timestamp\":{timestamp},\"data\":{data}}}"
    );
    out
}

/// Nothing more will come on a stream.
pub(super) fn done(stream: StreamId, next: u64) -> String {
    format!("{{\"type\":\"done\",\"stream_id\":\"{stream}\",\"next\":{next}}}")
}

/// The media type without its parameters.
fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// Writes the rest of a message that contains a response.
///
/// Its body is whole in memory already: endpoints of this interface make it before they answer, but for those that are
/// [endless](crate::middleware::is_endless).
async fn tell(out: &mut String, response: Response, data: Option<&str>) {
    let (head, body) = response.into_parts();
    let failed = head.status.is_client_error() || head.status.is_server_error();
    let (kind, field) = match data {
        Some(data) if !failed => ("success", data),
        _ => ("error", "error"),
    };
    let media_type = media_type(&head.headers);
    let is_json = media_type == "application/json" || media_type.ends_with("+json");
    let text = read(body).await;
    let value = match text.as_str() {
        "" => "null".to_owned(),
        _ if is_json => text,
        plain => quoted(plain),
    };
    let _ = write!(out, "\"type\":\"{kind}\",\"{field}\":{value}");
    if let Some(seconds) = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u64>().ok()) {
        let _ = write!(out, ",\"retry_after\":{seconds}");
    }
    if head.headers.contains_key(IDEMPOTENCY_REPLAYED) {
        out.push_str(",\"replayed\":true");
    }
    for (header, member) in [(USHER_IGNORED, "ignored"), (USHER_WARNING, "warning")] {
        if let Some(remark) = head.headers.get(header).and_then(|value| value.to_str().ok()) {
            let _ = write!(out, ",\"{member}\":{}", quoted(remark));
        }
    }
    out.push('}');
}

async fn read(body: Body) -> String {
    let bytes = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "a response could not be read");
            return String::new();
        }
    };
    match String::from_utf8(bytes.into()) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PROBLEM: &str = "application/problem+json";

    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[tokio::test]
    async fn http_response_becomes_data_or_an_error() {
        let make = |status: u16, media_type: &str, body: &str| {
            let body = Body::from(body.to_owned());
            Response::builder().status(status).header(CONTENT_TYPE, media_type).body(body).unwrap()
        };
        for (given, expected) in [
            (make(200, "application/json", "{\"a\":1}"), json!({ "id": "1", "type": "success", "data": { "a": 1 } })),
            (make(200, "text/plain", "\"O\nK"), json!({ "id": "1", "type": "success", "data": "\"O\nK" })),
            (make(204, "text/plain", ""), json!({ "id": "1", "type": "success", "data": null })),
            (make(404, PROBLEM, "{\"code\":\"x\"}"), json!({ "id": "1", "type": "error", "error": { "code": "x" } })),
        ] {
            assert_eq!(json(&response(Some("1"), given).await), expected);
        }
        let mut busy = make(503, PROBLEM, "{}");
        busy.headers_mut().insert(RETRY_AFTER, 5.into());
        let expected = json!({ "id": null, "type": "error", "error": {}, "retry_after": 5 });
        assert_eq!(json(&response(None, busy).await), expected);
    }
}
