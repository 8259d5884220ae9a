//! Error responses: RFC 9457 problem details.

#[cfg(test)]
mod client_vectors;
mod code;
mod tickets;

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value};
use usher_engine::access::Scope;
use usher_engine::ports::StoreError;
use usher_engine::{
    CloseHandshakeError, DecisionError, EventsError, FieldError, RedeemError, RetryError, StartError, SubscriptionError,
};
use utoipa::ToSchema;

pub use code::ErrorCode;

use crate::request_id::RequestId;

/// The media type of an error body.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// `Retry-After` in seconds when a limit is reached or the store is unavailable.
pub(crate) const RETRY_SECONDS: u64 = 5;

/// An error of a request. As a response, it is only a status with itself attached: the middleware, which has the
/// request id, writes the body and the log line.
#[derive(Clone, Debug)]
pub struct Problem(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    code: ErrorCode,
    detail: Cow<'static, str>,
    errors: Vec<FieldError>,
    members: Map<String, Value>,
    header: Option<(HeaderName, HeaderValue)>,
    /// For the log only.
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

/// An invalid field of a request.
#[derive(ToSchema)]
#[schema(as = FieldError)]
#[expect(dead_code, reason = "describes what the engine's `FieldError` is written as")]
pub(crate) struct FieldErrorSchema {
    /// Where: a JSON Pointer (RFC 6901) into the body; for a query parameter or header, `/` and its name.
    #[schema(example = "/main_key")]
    pointer: String,
    /// The invalid fields.
    #[schema(example = "must be a string")]
    detail: String,
}

/// The body of every error: RFC 9457 problem details.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody<'a> {
    /// The kind of error: `urn:usher:error:` and the `code`.
    #[schema(example = "urn:usher:error:invalid_request")]
    r#type: String,
    /// The kind of error for people; the same for every occurrence.
    #[schema(example = "Some fields are wrong")]
    title: &'a str,
    /// The HTTP status.
    #[schema(example = 422)]
    status: u16,
    /// What happened, for people.
    #[schema(example = "/main_key must be a string of 64 hex characters, is a number")]
    detail: &'a str,
    code: ErrorCode,
    /// The `X-Request-Id` of the request: quote it when you report a problem.
    #[schema(example = "b1d5781111d84f7b3fe45a0852e59758")]
    request_id: &'a str,
    /// All invalid fields; only with `invalid_request`.
    #[serde(skip_serializing_if = "<[FieldError]>::is_empty")]
    #[schema(required = false, value_type = Vec<FieldErrorSchema>)]
    errors: &'a [FieldError],
    /// Further members of this kind of error.
    #[serde(flatten)]
    #[schema(ignore)]
    members: &'a Map<String, Value>,
}

impl Problem {
    /// An error of this kind; `detail` says what happened, for people.
    pub fn new(code: ErrorCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Parts {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            members: Map::new(),
            header: None,
            cause: None,
        }))
    }

    /// `invalid_request`, with the invalid fields.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let mut problem = Self::new(ErrorCode::InvalidRequest, in_one_line(&errors));
        problem.0.errors = errors;
        problem
    }

    /// `invalid_request`, with one invalid field.
    pub(crate) fn invalid_field(pointer: &str, detail: impl Into<String>) -> Self {
        Self::invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.into() }])
    }

    pub(crate) fn overloaded(detail: &'static str) -> Self {
        Self::new(ErrorCode::Overloaded, detail).retry_after(RETRY_SECONDS)
    }

    /// The key lacks this scope.
    pub(crate) fn scope_missing(scope: Scope) -> Self {
        let scope = scope.as_str();
        Self::new(ErrorCode::ScopeMissing, format!("the key lacks the scope {scope}"))
            .with_members(Map::from_iter([("scope".to_owned(), Value::from(scope))]))
    }

    /// The service has no embedded Lightning node.
    pub(crate) fn no_lightning_node() -> Self {
        Self::new(
            ErrorCode::WalletNotConfigured,
            "the service runs no Lightning node of its own (wallet.ln_backend is not \"embedded\")",
        )
    }

    pub(crate) fn wallet_not_configured() -> Self {
        Self::new(ErrorCode::WalletNotConfigured, "no Lightning backend is configured (wallet.ln_backend)")
    }

    /// `internal_error`, whose cause is only logged.
    pub fn internal(cause: impl Error + Send + Sync + 'static) -> Self {
        Self::new(ErrorCode::InternalError, "the service failed; its log has details under this request id")
            .caused_by(cause)
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// Adds members to the body (RFC 9457 section 3.2).
    pub(crate) fn with_members(mut self, members: Map<String, Value>) -> Self {
        self.0.members = members;
        self
    }

    fn caused_by(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Arc::new(cause));
        self
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// Writes the body into the response, and logs the problem if the service is at fault.
    pub(crate) fn render(&self, response: &mut Response, request_id: &RequestId) {
        if let Some(cause) = &self.0.cause {
            tracing::error!(code = self.0.code.as_str(), error = %Chain(cause.as_ref()), "a request failed");
        }
        *response.body_mut() = Body::from(self.to_json(request_id.as_str()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some((name, value)) = &self.0.header {
            headers.insert(name.clone(), value.clone());
        }
    }
}

/// The first wrong field, and how many others there are.
fn in_one_line(errors: &[FieldError]) -> String {
    let Some((FieldError { pointer, detail }, others)) = errors.split_first() else { return String::new() };
    let what = if pointer.is_empty() { "the body" } else { pointer };
    match others.len() {
        0 => format!("{what} {detail}"),
        1 => format!("{what} {detail}; 1 other field is wrong"),
        count => format!("{what} {detail}; {count} other fields are wrong"),
    }
}

impl Problem {
    pub(crate) fn to_json(&self, request_id: &str) -> String {
        let body = ProblemBody {
            r#type: self.0.code.type_uri(),
            title: self.0.code.title(),
            status: self.0.code.status().as_u16(),
            detail: &self.0.detail,
            code: self.0.code,
            request_id,
            errors: &self.0.errors,
            members: &self.0.members,
        };
        // Strings and numbers only: serialization cannot fail.
        serde_json::to_string(&body).unwrap_or_default()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.0.code.status();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Invalid(fields) => Self::invalid(fields),
            StartError::ScopeMissing(scope) => Self::scope_missing(scope),
            StartError::NoLightning => Self::wallet_not_configured(),
            StartError::NoNode => Self::no_lightning_node(),
            StartError::Node(error) => error.into(),
            StartError::NoTicketWallet => {
                Self::new(ErrorCode::WalletNotConfigured, "the service runs without a ticket wallet")
            }
            StartError::NoVerificationMint => Self::new(
                ErrorCode::VerificationNotConfigured,
                "no mint of proofs is configured (verification.mint_url)",
            ),
            StartError::NoWebhook => {
                Self::new(ErrorCode::WebhookNotConfigured, "no webhook is configured (webhook.url)")
            }
            // Only for idempotent requests, which look up the stored response.
            StartError::Repeated => Self::overloaded("the same request is being processed"),
            StartError::TooManyOpen => Self::overloaded("limits.max_open_streams is reached"),
            StartError::TooManyEnded => Self::overloaded(
                "too many payments have ended within the last day and are watched for late money, or too many sent tickets \
                 were neither redeemed nor reclaimed; together with everything open they are limited to twice \
                 limits.max_open_streams",
            ),
            StartError::BudgetExhausted { budget, retry_after } => {
                let detail = format!("too little is left of {budget} for this amount and its fee");
                Self::new(ErrorCode::BudgetExhausted, detail).retry_after(retry_after)
            }
            StartError::RateUnavailable(error) => {
                // Rounded up, so that the client does not retry too early.
                let seconds = error.retry_after.as_secs() + u64::from(error.retry_after.subsec_nanos() > 0);
                Self::new(ErrorCode::RateUnavailable, error.to_string()).retry_after(seconds)
            }
            StartError::Store(error) => error.into(),
        }
    }
}

impl From<CloseHandshakeError> for Problem {
    fn from(error: CloseHandshakeError) -> Self {
        match error {
            CloseHandshakeError::NotFound => {
                Self::new(ErrorCode::StreamNotFound, "there is no key handshake with this stream id, or it was removed")
            }
            CloseHandshakeError::Store(error) => error.into(),
        }
    }
}

impl From<SubscriptionError> for Problem {
    fn from(error: SubscriptionError) -> Self {
        match error {
            SubscriptionError::NotFound => Self::new(
                ErrorCode::SubscriptionNotFound,
                "this user has no such subscription, or it was removed after its retention",
            ),
            SubscriptionError::Repeated => Self::overloaded("the same request is being processed"),
            SubscriptionError::Store(error) => error.into(),
        }
    }
}

impl From<DecisionError> for Problem {
    fn from(error: DecisionError) -> Self {
        match error {
            DecisionError::NotFound => Self::new(
                ErrorCode::SessionNotFound,
                "there is no such verification session, or it was removed after its retention",
            ),
            DecisionError::Decided => Self::new(ErrorCode::SessionDecided, "the session is decided already"),
            DecisionError::Expired => Self::new(ErrorCode::SessionExpired, "nobody decided the session in time"),
            DecisionError::Repeated => Self::overloaded("the same request is being processed"),
            DecisionError::Store(error) => error.into(),
        }
    }
}

impl From<RedeemError> for Problem {
    fn from(error: RedeemError) -> Self {
        match error {
            RedeemError::NotFound => {
                Self::new(ErrorCode::StreamNotFound, "there is no such login, or it was removed after its retention")
            }
            RedeemError::NoCode => Self::new(
                ErrorCode::LoginCodeInvalid,
                "the login has no code, because it was begun without return_url: read its stream",
            ),
            RedeemError::Wrong => Self::new(ErrorCode::LoginCodeInvalid, "it is not the code of this login"),
            RedeemError::Redeemed => Self::new(ErrorCode::LoginCodeRedeemed, "the code was redeemed before"),
            RedeemError::Expired => {
                Self::new(ErrorCode::LoginCodeExpired, "the code was not redeemed in time: begin another login")
            }
            RedeemError::Repeated => Self::overloaded("the same request is being processed"),
            RedeemError::Store(error) => error.into(),
        }
    }
}

impl From<RetryError> for Problem {
    fn from(error: RetryError) -> Self {
        match error {
            RetryError::Repeated => Self::overloaded("the same request is being processed"),
            RetryError::Store(error) => error.into(),
        }
    }
}

impl From<EventsError> for Problem {
    fn from(error: EventsError) -> Self {
        match error {
            EventsError::NotFound => {
                Self::new(ErrorCode::StreamNotFound, "there is no such stream, or it was removed after its retention")
            }
            EventsError::Removed { first } => Self::new(
                ErrorCode::EventsRemoved,
                format!(
                    "events of this stream before {first} were removed after their retention; after={first} reads on"
                ),
            )
            .with_members(Map::from_iter([("first".to_owned(), Value::from(first))])),
            EventsError::Damaged { index } => Self::new(
                ErrorCode::StorageUnavailable,
                format!(
                    "event {index} of this stream is damaged in the database; after={} reads on behind it",
                    index + 1
                ),
            ),
            EventsError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let detail = match error {
            StoreError::Unreadable(_) | StoreError::DamagedEvent { .. } => {
                "the stored data cannot be read; the log has details under this request id"
            }
            StoreError::Unexpected(_) => {
                "the service has a defect; nothing is known of the operation. The log has details under this request id"
            }
            StoreError::NotActive => "this instance is not the active one; nothing was stored",
            StoreError::Failed(_) | StoreError::Closed => {
                "the database is failing; the operation may or may not have been stored"
            }
        };
        Self::new(ErrorCode::StorageUnavailable, detail).retry_after(RETRY_SECONDS).caused_by(error)
    }
}

/// An error with all its sources, on one line.
struct Chain<'a>(&'a (dyn Error + Send + Sync));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}
