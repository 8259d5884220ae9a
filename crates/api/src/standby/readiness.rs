//! `GET /health/ready` of a standby.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_LENGTH;
use serde_json::{Value, json};

use super::forwarder::Forwarder;

/// Longest readiness that is read, in bytes: 100 mints and 100 damaged rows are listed at most.
const LONGEST: usize = 256 * 1024;

/// The readiness of the active instance, which is what a client of this one gets, with `"instance": "standby"`.
pub(super) async fn readiness(State(forwarder): State<Forwarder>, request: Request) -> Response {
    let response = match forwarder.send(request).await {
        Ok(response) => response,
        Err(problem) => return problem.into_response(),
    };
    let (mut head, body) = response.into_parts();
    let Ok(body) = to_bytes(body, LONGEST).await else { return super::forwarder::unreachable().into_response() };
    let body = match serde_json::from_slice::<Value>(&body) {
        Ok(Value::Object(mut members)) if members.contains_key("instance") => {
            members.insert("instance".to_owned(), json!("standby"));
            head.headers.remove(CONTENT_LENGTH);
            Body::from(Value::Object(members).to_string())
        }
        _ => Body::from(body),
    };
    Response::from_parts(head, body)
}
