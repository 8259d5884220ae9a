//! `Idempotency-Key`: a repeated request gets the response to the first one, and its work is done once.
//!
//! | the service dies | a repeated request |
//! | --- | --- |
//! | before the work is committed | nothing, and does it |
//! | between the commit and the answer | the answer: it is in the same transaction as the work |
//! | in a request that waits for a mint (`/cashu/mint`, `burn`, `withdraw`, reclaim), before its record is stored | a job of the ticket wallet whose id follows from the idempotency key, or from the delivery's stream: it is continued, and gives the same token or amount |
//! | in a call that has no transaction to keep its answer in, before it is kept | nothing, and does it again: docs/api.md says why that is the same |
//!
//! Only success is stored. An error changed nothing, so a repeated request may try again, also with a corrected body.

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
use usher_engine::{IdempotentRequest, RenderedResponse};

use self::fingerprint::Fingerprint;
pub(crate) use self::key::IDEMPOTENCY_KEY;
use crate::ApiState;
use crate::auth::Authorization;
use crate::idempotency_queue::Turn;
use crate::problem::{ErrorCode, PROBLEM_JSON, Problem};
use crate::request_log;

/// Marks a repeated response.
pub(crate) const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The body of repeated responses, if it is another than that of the first. A response extension.
#[derive(Clone)]
pub(crate) struct RepeatedBody(pub(crate) Vec<u8>);

/// A request that must be done only once. A request extension.
#[derive(Clone)]
pub(crate) struct IdempotencyContext(Arc<Call>);

struct Call {
    key: IdempotencyKey,
    fingerprint: Fingerprint,
    /// The response was rendered to be committed with the work.
    written: AtomicBool,
}

impl IdempotencyContext {
    /// Each API key has idempotency keys of its own.
    fn new(method: &Method, path: &str, key: &str, api_key: Option<KeyId>, body: &[u8]) -> Self {
        // None of them has a zero byte in it.
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

    /// The key, for work that keeps its own record of what was done under it.
    pub(crate) fn key(&self) -> IdempotencyKey {
        self.0.key
    }

    /// For the engine: renders the response that is committed with the work. It is the response of the handler: 200,
    /// with this body as JSON.
    pub(crate) fn request<T, B: Serialize>(
        self,
        body: impl Fn(&T) -> B + Send + Sync + 'static,
    ) -> IdempotentRequest<T> {
        let (key, fingerprint) = (self.0.key, self.0.fingerprint.value);
        let render = Box::new(move |result: &T| {
            self.0.written.store(true, Ordering::Relaxed);
            let (status, media_type, body) = match serde_json::to_vec(&body(result)) {
                Ok(body) => (StatusCode::OK, "application/json", body),
                // The handler fails in the same way.
                Err(error) => {
                    let problem = Problem::internal(error).to_json("").into_bytes();
                    (StatusCode::INTERNAL_SERVER_ERROR, PROBLEM_JSON, problem)
                }
            };
            RenderedResponse { status: status.as_u16(), media_type: media_type.to_owned(), body }
        });
        IdempotentRequest { key, fingerprint, render }
    }

    fn replay(&self, answer: IdempotencyRecord) -> Response {
        if !self.0.fingerprint.matches(answer.fingerprint) {
            let detail = "the key was used within 24 hours for the same endpoint with another body; use a new one";
            return Problem::new(ErrorCode::IdempotencyKeyReused, detail).into_response();
        }
        if let Some(stream) = stream_of(&answer.body) {
            request_log::record_stream_id(&stream);
        }
        let mut response = Response::new(Body::from(answer.body));
        *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        if let Ok(media_type) = HeaderValue::try_from(answer.media_type) {
            response.headers_mut().insert(CONTENT_TYPE, media_type);
        }
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
        response
    }
}

/// The stream that a response names, if its request started an operation.
fn stream_of(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        stream_id: String,
    }
    serde_json::from_slice(body).ok().map(|Named { stream_id }| stream_id)
}

/// A request with a key that is processed, because it is the first of its kind.
pub(crate) struct First {
    pub(crate) call: IdempotencyContext,
    /// The next one with its key begins when this is dropped.
    _turn: Turn,
}

/// The key of a request; `None`: it may be done each time that it comes.
pub(crate) fn key_of(request: &Request) -> Result<Option<String>, Problem> {
    if request.method() != Method::POST {
        return Ok(None);
    }
    key::read(request.headers()).map_err(|error| Problem::invalid(vec![error]))
}

/// Waits until no other request with this key is processed. `Err` is the response to the first one, if there was one.
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
        return Ok(Err(call.replay(answer)));
    }
    head.extensions.insert(call.clone());
    Ok(Ok(First { call, _turn: turn }))
}

/// Stores a request's response unless there is one already, and returns the response to send.
pub(crate) async fn keep(state: &ApiState, call: &IdempotencyContext, response: Response) -> Response {
    // The work is done, and the client does not know it yet.
    fail::fail_point!("before-answer", |_| -> Response { std::process::abort() });
    if !response.status().is_success() {
        // It may have failed because another process on the same store has processed the same request in the meantime.
        return match state.engine.idempotency().get(&call.0.key).await {
            Ok(Some(answer)) => call.replay(answer),
            Ok(None) | Err(_) => response,
        };
    }
    if call.0.written.load(Ordering::Relaxed) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // The body is already in memory: no POST responds with a stream.
    let body = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => return Problem::internal(error).into_response(),
    };
    let (status, media_type) = (head.status.as_u16(), head.headers.get(CONTENT_TYPE));
    let media_type = media_type.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    // What may be shown only once is not kept.
    let kept = head.extensions.remove::<RepeatedBody>().map_or_else(|| body.to_vec(), |RepeatedBody(kept)| kept);
    let render =
        Box::new(move |_: &()| RenderedResponse { status, media_type: media_type.clone(), body: kept.clone() });
    let once = IdempotentRequest { key: call.0.key, fingerprint: call.0.fingerprint.value, render };
    match state.engine.idempotency().keep(&once, &()).await {
        Ok(()) => Response::from_parts(head, Body::from(body)),
        Err(error) => Problem::from(error).into_response(),
    }
}
