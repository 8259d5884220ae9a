//! `GET /health/ready` of a standby.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_LENGTH;
use serde_json::{Value, json};

use super::forwarder::Forwarder;
use super::no_active_instance::{none, unreachable};

/// The largest readiness response that is read, in bytes: it lists at most 100 mints and 100 damaged rows.
const LONGEST: usize = 256 * 1024;

/// The readiness of the active instance, which also serves this instance's clients, with `"instance": "standby"`.
pub(super) async fn readiness(State(forwarder): State<Forwarder>, request: Request) -> Response {
    let failure = forwarder.database_failure(request.headers());
    let response = match (forwarder.send(request).await, failure) {
        (Ok(response), _) => response,
        (Err(_), Some(failure)) => {
            return none(format!("no instance of this service is active: {failure}")).into_response();
        }
        (Err(problem), None) => return problem.into_response(),
    };
    let (mut head, body) = response.into_parts();
    let Ok(body) = to_bytes(body, LONGEST).await else { return unreachable().into_response() };
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
