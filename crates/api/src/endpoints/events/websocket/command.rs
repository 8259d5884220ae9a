//! Commands of clients.

use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method};
use secrecy::SecretString;
use serde_json::{Map, Value};
use usher_engine::request_body::field_reader::{self, Fields};
use usher_engine::{FieldError, FieldErrors, StreamId};

use crate::body;
use crate::endpoints::events::event_json::MAX_INDEX;
use crate::idempotency::IDEMPOTENCY_KEY;
use crate::problem::{ErrorCode, Problem};
use crate::request_id::X_REQUEST_ID;

/// Longest id of a command, in bytes: the response repeats it.
const MAX_ID_BYTES: usize = 128;

/// Headers that a `request` may have. The others concern the connection, or make no sense over a WebSocket.
const HEADERS: [HeaderName; 2] = [IDEMPOTENCY_KEY, X_REQUEST_ID];

/// A command: `{"id","cmd","params"}`.
pub(super) struct Command {
    /// The client's own id of it, which the response repeats.
    pub(super) id: String,
    /// The action.
    pub(super) action: Action,
}

/// What a client wants.
pub(super) enum Action {
    /// Says who it is.
    Auth(SecretString),
    /// Wants a stream's events with `index >= after`; no stream at all when the id is none.
    Subscribe(Option<StreamId>, u64),
    /// No longer wants them.
    Unsubscribe(Option<StreamId>),
    /// Wants to know whether we are there.
    Ping,
    /// Requests an endpoint.
    Request(RequestCommand),
}

/// A request to an endpoint.
pub(super) struct RequestCommand {
    pub(super) method: Method,
    pub(super) target: PathAndQuery,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The JSON text of its body.
    pub(super) body: Option<String>,
}

/// A message that is no command.
pub(super) struct InvalidCommand {
    /// Its id, if that could be read.
    pub(super) id: Option<String>,
    pub(super) problem: Problem,
}

/// Reads a message.
///
/// # Errors
/// [`InvalidCommand`], which names all that is wrong. What was sent is never quoted: it may be the token.
pub(super) fn read(text: &str) -> Result<Command, InvalidCommand> {
    let message = match body::value(text.as_bytes()) {
        Ok(Value::Object(message)) => message,
        Ok(_) => {
            let error = FieldError { pointer: String::new(), detail: "must be a JSON object".to_owned() };
            return Err(InvalidCommand { id: None, problem: Problem::invalid(vec![error]) });
        }
        Err(error) => {
            let problem = Problem::new(ErrorCode::MalformedJson, error.to_string());
            return Err(InvalidCommand { id: None, problem });
        }
    };
    let mut errors = FieldErrors::default();
    let mut fields = Fields::new(&message, &mut errors);
    let id = fields.required("id", id);
    let cmd = fields.required("cmd", field_reader::text);
    let params = fields.optional("params", object).unwrap_or_default();
    let action = cmd.and_then(|cmd| action(&cmd, &params, &mut errors));
    match (id, errors.finish(action)) {
        (Some(id), Ok(action)) => Ok(Command { id, action }),
        (id, Err(errors)) => Err(InvalidCommand { id, problem: Problem::invalid(errors) }),
        // Not reached: what makes the id `None` was noted.
        (None, Ok(_)) => Err(InvalidCommand { id: None, problem: Problem::invalid(Vec::new()) }),
    }
}

fn action(cmd: &str, params: &Map<String, Value>, errors: &mut FieldErrors) -> Option<Action> {
    let mut found = FieldErrors::default();
    let mut fields = Fields::new(params, &mut found);
    let action = match cmd {
        "auth" => fields.required("token", field_reader::text).map(|token| Action::Auth(token.into())),
        "subscribe" => {
            let stream = fields.required("stream_id", field_reader::text);
            let after = fields.optional("after", field_reader::integer::<0, MAX_INDEX>).unwrap_or(0);
            stream.map(|stream| Action::Subscribe(stream.parse().ok(), after))
        }
        "unsubscribe" => {
            fields.required("stream_id", field_reader::text).map(|stream| Action::Unsubscribe(stream.parse().ok()))
        }
        "ping" => Some(Action::Ping),
        "request" => call(&mut fields, params.get("body")).map(Action::Request),
        _ => return errors.reject("/cmd", "must be `auth`, `subscribe`, `unsubscribe`, `ping` or `request`"),
    };
    match found.finish(action) {
        Ok(action) => Some(action),
        Err(found) => {
            for error in found {
                errors.add(format!("/params{}", error.pointer), error.detail);
            }
            None
        }
    }
}

fn call(fields: &mut Fields<'_>, body: Option<&Value>) -> Option<RequestCommand> {
    let method = fields.required("method", method);
    let target = fields.required("path", target);
    let headers = fields.optional("headers", headers).unwrap_or_default();
    let body = body.filter(|body| !body.is_null()).map(Value::to_string);
    Some(RequestCommand { method: method?, target: target?, headers, body })
}

fn id(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<String> {
    let id = field_reader::text(pointer, value, errors)?;
    if id.is_empty() || id.len() > MAX_ID_BYTES {
        return errors.reject(pointer, format_args!("must be a string of 1 to {MAX_ID_BYTES} bytes"));
    }
    Some(id)
}

fn object(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object.clone()),
        _ => errors.reject(pointer, "must be an object"),
    }
}

fn method(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<Method> {
    let text = field_reader::text(pointer, value, errors)?;
    let method = Method::from_bytes(text.as_bytes());
    method.map_or_else(|_| errors.reject(pointer, "must be an HTTP method, such as `POST`"), Some)
}

fn target(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<PathAndQuery> {
    let text = field_reader::text(pointer, value, errors)?;
    match PathAndQuery::try_from(text.as_str()) {
        Ok(target) if text.starts_with('/') => Some(target),
        _ => errors.reject(pointer, "must be a path that begins with `/`, and may have a query"),
    }
}

fn headers(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let mut taken = Vec::new();
    for (name, value) in object(pointer, value, errors)? {
        let Some(known) = HEADERS.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(&name)) else {
            continue;
        };
        let pointer = format!("{pointer}/{known}");
        let Some(text) = field_reader::text(&pointer, &value, errors) else { continue };
        match HeaderValue::from_str(&text) {
            Ok(value) => taken.push((known, value)),
            Err(_) => {
                errors.add(pointer, "must be visible ASCII characters");
            }
        }
    }
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn wrong_types_are_named_but_not_quoted(
            cmd in prop_oneof![Just("auth"), Just("subscribe"), Just("unsubscribe"), Just("request")],
            field in prop_oneof![Just("token"), Just("stream_id"), Just("after"), Just("method"), Just("path"), Just("headers")],
            secret in "[a-z]{20,60}",
        ) {
            let params = json!({ field: [secret] });
            let message = json!({ "id": "1", "cmd": cmd, "params": params }).to_string();
            let Err(InvalidCommand { id, problem }) = read(&message) else {
                return Err(TestCaseError::fail("taken"));
            };
            prop_assert_eq!(id.as_deref(), Some("1"));
            prop_assert!(!problem.to_json("").contains(&secret));
        }
    }
}
