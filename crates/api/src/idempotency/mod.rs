//! `Idempotency-Key`: a repeated request gets the response to the first one, and its work is done once.
//!
//! | the service stops | a repeated request |
//! | --- | --- |
//! | before the work is committed | finds no record, and is processed |
//! | between the commit and the response | gets the response, which is in the same transaction as the work |
//! | in a request that waits for a mint (`/cashu/mint`, `burn`, `withdraw`, reclaim), before its record is stored | continues a job of the ticket wallet with the same token or amount: the job's id follows from the idempotency key, or from the delivery's stream |
//! | in a call without a transaction, before its response is stored | finds no record, and is processed again with the same effect (docs/api.md) |
//!
//! A repeated response about a payment that ended unpaid also has its `status`: the app knows that its user comes late.
//!
//! Only successes are stored. An error changes nothing, so a repeated request is processed, also with a corrected body.

mod fingerprint;
mod key;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use usher_engine::ports::{IdempotencyKey, IdempotencyRecord, KeyId};
use usher_engine::{IdempotentRequest, RenderedResponse, StreamId};

use self::fingerprint::Fingerprint;
pub(crate) use self::key::IDEMPOTENCY_KEY;
use crate::ApiState;
use crate::auth::Authorization;
use crate::idempotency_queue::Turn;
use crate::problem::{ErrorCode, PROBLEM_JSON, Problem};
use crate::request_log;

/// Marks a repeated response.
pub(crate) const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The stored body of repeated responses, if it differs from that of the first. A response extension.
#[derive(Clone)]
pub(crate) struct RepeatedBody(pub(crate) Vec<u8>);

/// A request that must be processed only once. A request extension.
#[derive(Clone)]
pub(crate) struct IdempotencyContext(Arc<Call>);

struct Call {
    key: IdempotencyKey,
    fingerprint: Fingerprint,
    /// The response was rendered, to be committed with the work.
    written: AtomicBool,
}

impl IdempotencyContext {
    /// Idempotency keys are scoped to an API key.
    fn new(method: &Method, path: &str, key: &str, api_key: Option<KeyId>, body: &[u8]) -> Self {
        // No part contains a zero byte.
        let mut call = [method.as_str(), path, key].join("\0");
        if let Some(api_key) = api_key {
            call = format!("{call}\0{api_key}");
        }
        Self(Arc::new(Call {
            key: IdempotencyKey(Sha256::digest(call).into()),
            fingerprint: Fingerprint::of(body),
            written: AtomicBool::new(false),
        }))
    }

    /// The key, for work with its own record of completed requests.
    pub(crate) fn key(&self) -> IdempotencyKey {
        self.0.key
    }

    /// Renders the response that the engine commits with the work: status 200, with this body as JSON.
    pub(crate) fn request<T, B: Serialize>(
        self,
        body: impl Fn(&T) -> B + Send + Sync + 'static,
    ) -> IdempotentRequest<T> {
        let (key, fingerprint) = (self.0.key, self.0.fingerprint.value);
        let render = Box::new(move |result: &T| {
            self.0.written.store(true, Ordering::Relaxed);
            let (status, media_type, body) = match serde_json::to_vec(&body(result)) {
                Ok(body) => (StatusCode::OK, "application/json", body),
                // The handler fails with the same error.
                Err(error) => {
                    let problem = Problem::internal(error).to_json("").into_bytes();
                    (StatusCode::INTERNAL_SERVER_ERROR, PROBLEM_JSON, problem)
                }
            };
            RenderedResponse { status: status.as_u16(), media_type: media_type.to_owned(), body }
        });
        IdempotentRequest { key, fingerprint, render }
    }

    async fn replay(&self, state: &ApiState, mut answer: IdempotencyRecord) -> Result<Response, Problem> {
        if !self.0.fingerprint.matches(answer.fingerprint) {
            let detail = "the key was used within 24 hours for the same endpoint with another body; use a new one";
            return Err(Problem::new(ErrorCode::IdempotencyKeyReused, detail));
        }
        if let Some(stream) = stream_of(&answer.body) {
            request_log::record_stream_id(&stream);
            if let Some(status) = state.engine.payments().unpaid_status(stream).await? {
                add_status(&mut answer.body, &status);
            }
        }
        let mut response = Response::new(Body::from(answer.body));
        *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        if let Ok(media_type) = HeaderValue::try_from(answer.media_type) {
            response.headers_mut().insert(CONTENT_TYPE, media_type);
        }
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
        Ok(response)
    }
}

/// The stream in a response, if the request started an operation.
fn stream_of(body: &[u8]) -> Option<StreamId> {
    #[derive(Deserialize)]
    struct Named {
        stream_id: String,
    }
    serde_json::from_slice(body).ok().and_then(|Named { stream_id }| stream_id.parse().ok())
}

fn add_status(body: &mut Vec<u8>, status: &str) {
    let Ok(mut members) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body) else { return };
    members.insert("status".to_owned(), status.into());
    if let Ok(with_status) = serde_json::to_vec(&members) {
        *body = with_status;
    }
}

/// The first request with a key: the one that is processed.
pub(crate) struct First {
    pub(crate) call: IdempotencyContext,
    /// Dropping it starts the next request with the same key.
    _turn: Turn,
}

/// The key of a request. `None`: the request is processed each time.
pub(crate) fn key_of(request: &Request) -> Result<Option<String>, Problem> {
    if request.method() != Method::POST {
        return Ok(None);
    }
    key::read(request.headers()).map_err(|error| Problem::invalid(vec![error]))
}

/// Waits until no other request with this key runs. `Err` is the response to the first, if it succeeded.
pub(crate) async fn turn(
    state: &ApiState,
    head: &mut Parts,
    key: &str,
    body: &[u8],
) -> Result<Result<First, Response>, Problem> {
    let api_key = head.extensions.get::<Authorization>().and_then(Authorization::key_id);
    let call = IdempotencyContext::new(&head.method, head.uri.path(), key, api_key, body);
    let turn = state.idempotency_queue.turn(call.0.key).await;
    if let Some(answer) = state.engine.idempotency().get(&call.0.key).await? {
        return Ok(Err(call.replay(state, answer).await?));
    }
    head.extensions.insert(call.clone());
    Ok(Ok(First { call, _turn: turn }))
}

/// Stores a request's response unless one is stored, and returns the response to send.
pub(crate) async fn keep(state: &ApiState, call: &IdempotencyContext, response: Response) -> Response {
    // The work is done, and the client has no response yet.
    fail::fail_point!("before-answer", |_| -> Response { std::process::abort() });
    if !response.status().is_success() {
        // Another process on the same store may have processed the same request in the meantime.
        return match state.engine.idempotency().get(&call.0.key).await {
            Ok(Some(answer)) => call.replay(state, answer).await.unwrap_or_else(|problem| problem.into_response()),
            Ok(None) | Err(_) => response,
        };
    }
    if call.0.written.load(Ordering::Relaxed) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // The body is in memory: no POST responds with a stream.
    let body = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => return Problem::internal(error).into_response(),
    };
    let (status, media_type) = (head.status.as_u16(), head.headers.get(CONTENT_TYPE));
    let media_type = media_type.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    // Secrets that are shown only once are not stored.
    let kept = head.extensions.remove::<RepeatedBody>().map_or_else(|| body.to_vec(), |RepeatedBody(kept)| kept);
    let render =
        Box::new(move |_: &()| RenderedResponse { status, media_type: media_type.clone(), body: kept.clone() });
    let once = IdempotentRequest { key: call.0.key, fingerprint: call.0.fingerprint.value, render };
    match state.engine.idempotency().keep(&once, &()).await {
        Ok(()) => Response::from_parts(head, Body::from(body)),
        Err(error) => Problem::from(error).into_response(),
    }
}
