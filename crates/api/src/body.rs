//! Reading request bodies.

mod strict_json;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};
use usher_engine::request_body::RequestBody;
use usher_engine::request_body::field_reader::Fields;
use usher_engine::{CheckedRequest, FieldErrors, Requester};

use self::strict_json::Unambiguous;
use crate::ApiState;
use crate::auth::{self, Authorization};
use crate::problem::{ErrorCode, Problem};
use crate::remarks::Remarks;

/// Extracts the request from a body.
pub(crate) struct Json<T>(pub(crate) T);

/// Extracts a body that is a JSON object.
#[derive(Clone, Debug)]
pub struct JsonObject {
    object: Map<String, Value>,
    remarks: Remarks,
}

impl JsonObject {
    /// What `read` makes of its fields; the response names the members that it does not read.
    ///
    /// # Errors
    /// All invalid fields.
    pub fn read<T>(self, read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Result<T, Problem> {
        let mut errors = FieldErrors::default();
        let mut fields = Fields::new(&self.object, &mut errors);
        let value = read(&mut fields);
        fields.ignore_others();
        self.remarks.ignored(errors.take_ignored());
        errors.finish(value).map_err(Problem::invalid)
    }
}

/// As [`Json`]; an empty body means `{}`. For requests without a required field.
pub(crate) struct OptionalJson<T>(pub(crate) T);

/// As [`Json`]; one response has the errors of form and those of values.
pub(crate) struct Checked<T>(pub(crate) T);

/// Extracts the readable fields of a body (`None` if it is no object), and the errors of form.
pub(crate) struct Draft<T: RequestBody>(pub(crate) Option<T::Draft>, pub(crate) FieldErrors);

impl<T: RequestBody> FromRequest<ApiState> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        finish(draft(request, state, b"").await?).map(Self)
    }
}

impl FromRequest<ApiState> for JsonObject {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let bytes = read(&head.headers, body, state).await?;
        if bytes.is_empty() {
            return Err(empty());
        }
        match value(&bytes).map_err(malformed)? {
            Value::Object(object) => Ok(Self { object, remarks: Remarks::of(&head.extensions) }),
            _ => Err(Problem::invalid_field("", "must be a JSON object")),
        }
    }
}

impl<T: RequestBody> FromRequest<ApiState> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        finish(draft(request, state, b"{}").await?).map(Self)
    }
}

impl<T: CheckedRequest> FromRequest<ApiState> for Checked<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        let requester = request.extensions().get::<Requester>().cloned();
        let remarks = Remarks::of(request.extensions());
        let mut draft: Draft<T> = draft(request, state, b"").await?;
        // The engine checks the values of a request that starts. Those of an invalid request are checked here.
        if let (Draft(Some(fields), errors), Some(requester)) = (&mut draft, requester)
            && !errors.is_empty()
        {
            // Includes the errors of form, on which some checks depend.
            let mut found = errors.clone();
            // Without the errors of values if the store fails.
            if T::check(fields, &requester, state.engine.checks(), &mut found).await.is_ok() {
                *errors = found;
            }
        }
        remarks.warn(draft.0.as_ref().and_then(T::warning));
        finish(draft).map(Self)
    }
}

impl<T: RequestBody> FromRequest<ApiState> for Draft<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        draft(request, state, b"").await
    }
}

async fn draft<T: RequestBody>(request: Request, state: &ApiState, empty: &[u8]) -> Result<Draft<T>, Problem> {
    let (head, body) = request.into_parts();
    let bytes = read(&head.headers, body, state).await?;
    // The body may arrive slowly, and a revocation takes effect immediately.
    if head.extensions.get::<Authorization>().is_some_and(Authorization::is_revoked) {
        return Err(auth::revoked());
    }
    let mut draft = parse(if bytes.is_empty() { empty } else { &bytes })?;
    Remarks::of(&head.extensions).ignored(draft.1.take_ignored());
    Ok(draft)
}

fn finish<T: RequestBody>(Draft(draft, errors): Draft<T>) -> Result<T, Problem> {
    errors.finish(draft.and_then(T::complete)).map_err(Problem::invalid)
}

/// The bytes of a JSON body; empty without a body.
pub(crate) async fn read(headers: &HeaderMap, body: Body, state: &ApiState) -> Result<Bytes, Problem> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if !is_json(headers) {
        let detail = "the body must be sent with `Content-Type: application/json`";
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    }
    if headers.get(CONTENT_ENCODING).is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let problem = Problem::new(ErrorCode::UnsupportedMediaType, "the body must not be compressed");
        // The accepted encodings (RFC 9110 section 12.5.3).
        return Err(problem.with_header(ACCEPT_ENCODING, HeaderValue::from_static("identity")));
    }
    let limit = state.limits.body_bytes;
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(too_large(limit));
    }
    let collected = tokio::time::timeout(state.limits.body_timeout, Limited::new(body, limit).collect()).await;
    match collected {
        Err(_elapsed) => Err(Problem::new(ErrorCode::BodyTimeout, "the body did not arrive in time")),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Ok(Err(_)) => Err(Problem::new(ErrorCode::MalformedJson, "the body is incomplete")),
    }
}

pub(crate) fn too_large(limit: usize) -> Problem {
    Problem::new(ErrorCode::BodyTooLarge, format!("the body is larger than {limit} bytes"))
}

fn empty() -> Problem {
    Problem::new(ErrorCode::MalformedJson, "the body is empty; send a JSON object")
}

/// `serde_json` reports the expected token, line and column, without quoting the body.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn malformed(error: serde_json::Error) -> Problem {
    Problem::new(ErrorCode::MalformedJson, error.to_string())
}

/// Whether the media type is `application/json`, with any parameters: `charset` has no meaning for it (RFC 8259 section
/// 11), and clients send it.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return false };
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Reads JSON in which no object has a member twice.
///
/// # Errors
/// The kind and position of the error, without a quotation.
pub(crate) fn value(json: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(json).map(|Unambiguous(value)| value)
}

fn parse<T: RequestBody>(bytes: &[u8]) -> Result<Draft<T>, Problem> {
    if bytes.is_empty() {
        return Err(empty());
    }
    let mut errors = FieldErrors::default();
    let draft = match value(bytes).map_err(malformed)? {
        Value::Object(object) => Some(T::read(&mut Fields::new(&object, &mut errors))),
        _ => errors.reject("", "must be a JSON object"),
    };
    Ok(Draft(draft, errors))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use usher_engine::request_body;
    use usher_engine::request_body::{Key, Subkeys};

    use super::*;

    request_body! {
        /// A body.
        struct Body, BodyDraft = "Body" {
            /// A key.
            main_key: Key,
            /// Keys.
            subkeys: Subkeys,
        }
    }

    proptest! {
        #[test]
        fn errors_never_quote_field_values(value in "[a-z]{20,60}") {
            let body = serde_json::json!({ "main_key": value, "subkeys": [value, { "key": value }], value.clone(): 1 });
            let error = parse::<Body>(body.to_string().as_bytes()).and_then(finish).err().unwrap();
            let answer = error.to_json("");
            prop_assert!(!answer.contains(&value), "{answer}");
        }
    }
}
