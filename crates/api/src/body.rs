//! Reading request bodies.

mod unambiguous;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::Value;
use usher_engine::FieldValues;
use usher_engine::ports::ProfileChange;

use self::unambiguous::Unambiguous;
use crate::ApiState;
use crate::field_reader::{Errors, Fields};
use crate::problem::{ErrorCode, FieldError, Problem};

/// A request body that is a JSON object.
pub(crate) trait JsonBody: Sized {
    /// Whether no body at all means `{}`: true where every field is optional.
    const MAY_BE_EMPTY: bool = false;

    /// Reads the fields; `None` after noting what is wrong.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// The fields whose values are checked, as far as they are of the right form: when others are not, the caller is told
    /// all that is wrong at once. `None` where a value that is of the right form can be.
    fn values(_fields: &mut Fields<'_>) -> Option<Values> {
        None
    }
}

/// Fields whose values are checked by the part of the service that they are for.
pub(crate) enum Values {
    /// By the engine.
    Engine(FieldValues),
    /// By the directory.
    Profile(ProfileChange),
}

impl Values {
    /// All that are wrong; none when the store cannot say.
    async fn wrong(self, state: &ApiState) -> Vec<FieldError> {
        match self {
            Self::Engine(values) => {
                let wrong = state.engine.invalid_fields(&values).await.unwrap_or_default();
                wrong.into_iter().map(FieldError::from).collect()
            }
            Self::Profile(change) => {
                state.directory.profile_faults(&change).into_iter().map(FieldError::from).collect()
            }
        }
    }
}

/// Extracts the body of a request.
pub(crate) struct Json<T>(pub(crate) T);

/// Why a body was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body must be sent with `Content-Type: application/json`")]
    NotJson,
    #[error("the body must not be compressed")]
    Compressed,
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the body did not arrive in time")]
    Timeout,
    #[error("the body ended before its end")]
    CutOff,
    #[error("the body is empty; send a JSON object")]
    Empty,
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
    #[error("some fields are wrong")]
    Invalid(Vec<FieldError>),
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let code = match &error {
            BodyError::NotJson | BodyError::Compressed => ErrorCode::UnsupportedMediaType,
            BodyError::TooLarge { .. } => ErrorCode::BodyTooLarge,
            BodyError::Timeout => ErrorCode::BodyTimeout,
            // `serde_json` says what it expected and at which line and column; it does not quote.
            BodyError::CutOff | BodyError::Empty | BodyError::Malformed(_) => ErrorCode::MalformedJson,
            BodyError::Invalid(_) => ErrorCode::InvalidRequest,
        };
        let detail = error.to_string();
        match error {
            BodyError::Invalid(errors) => Self::invalid(errors),
            // RFC 9110 section 12.5.3: which encodings would be taken.
            BodyError::Compressed => {
                Self::new(code, detail).with_header(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            }
            _ => Self::new(code, detail),
        }
    }
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

impl<T: JsonBody> FromRequest<ApiState> for Json<T> {
    type Rejection = BodyError;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, BodyError> {
        let (head, body) = request.into_parts();
        let bytes = read(&head.headers, body, state).await?;
        let (errors, values) = match parse(&bytes) {
            Ok(Parsed::Right(body)) => return Ok(Self(body)),
            Ok(Parsed::Wrong(errors, values)) => (errors, values),
            Err(error) => return Err(error),
        };
        let wrong = match values {
            Some(values) => values.wrong(state).await,
            None => Vec::new(),
        };
        Err(BodyError::Invalid([errors, wrong].concat()))
    }
}

/// The bytes of a JSON body; none when there is no body.
///
/// # Errors
/// [`BodyError`].
pub(crate) async fn read(headers: &HeaderMap, body: Body, state: &ApiState) -> Result<Bytes, BodyError> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if !is_json(headers) {
        return Err(BodyError::NotJson);
    }
    if headers.get(CONTENT_ENCODING).is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(BodyError::Compressed);
    }
    let limit = state.limits.body_bytes;
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(BodyError::TooLarge { limit });
    }
    let collected = tokio::time::timeout(state.limits.body_timeout, Limited::new(body, limit).collect()).await;
    match collected {
        Err(_elapsed) => Err(BodyError::Timeout),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge { limit }),
        Ok(Err(_)) => Err(BodyError::CutOff),
    }
}

/// Whether the media type is `application/json`, whatever its parameters: `charset` has no meaning for it (RFC 8259
/// section 11) and clients send it.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return false };
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Reads JSON in which no object has a member twice.
///
/// # Errors
/// What is wrong and where; it is not quoted.
pub(crate) fn value(json: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(json).map(|Unambiguous(value)| value)
}

/// A body that is JSON.
enum Parsed<T> {
    /// Every field is of the right form.
    Right(T),
    /// Some are not; what the others say.
    Wrong(Vec<FieldError>, Option<Values>),
}

fn parse<T: JsonBody>(bytes: &[u8]) -> Result<Parsed<T>, BodyError> {
    let value = if bytes.is_empty() {
        if !T::MAY_BE_EMPTY {
            return Err(BodyError::Empty);
        }
        Value::Object(serde_json::Map::new())
    } else {
        value(bytes)?
    };
    let mut errors = Errors::default();
    let read = match &value {
        Value::Object(object) => T::read(&mut Fields::new(object, &mut errors)),
        _ => errors.note("", "must be a JSON object"),
    };
    let errors = match errors.finish(read) {
        Ok(body) => return Ok(Parsed::Right(body)),
        Err(errors) => errors,
    };
    let values = match &value {
        // What is wrong was noted the first time.
        Value::Object(object) => T::values(&mut Fields::new(object, &mut Errors::default())),
        _ => None,
    };
    Ok(Parsed::Wrong(errors, values))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use usher_engine::{AuthenticateKey, KeyHandshakeRequest};

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_sent_is_an_answer_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse::<KeyHandshakeRequest>(&bytes);
            let _ = parse::<AuthenticateKey>(&bytes);
        }

        #[test]
        fn wrong_fields_are_never_quoted(value in "[a-z]{20,60}") {
            let body = serde_json::json!({ "main_key": value, "subkeys": [value, { "key": value }], value.clone(): 1 });
            let Ok(Parsed::Wrong(errors, _)) = parse::<AuthenticateKey>(body.to_string().as_bytes()) else {
                return Err(TestCaseError::fail("taken"));
            };
            let answer = Problem::from(BodyError::Invalid(errors)).to_json("");
            prop_assert!(!answer.contains(&value), "{answer}");
        }
    }
}
