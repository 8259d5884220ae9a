//! Runs every request that changes something to its end, also if its client disconnects or its time limit passes: an
//! interrupted change could leave a requested payment unwatched.
//!
//! | in this order | reason |
//! | --- | --- |
//! | the body is read | a slow body blocks no other request |
//! | a key takes a place within its share | a key must not fill the queue |
//! | requests with the same `Idempotency-Key` take turns | the next one gets the stored response |
//! | one of `limits.max_changes` is taken | limits the requests that accumulate while the store hangs |
//! | the handler runs on a task that the shutdown waits for | before this step, the request may be dropped without effect |
//! | the response is stored, and its outcome recorded in the audit log | both also if the client has disconnected |

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use tracing::Instrument as _;

use crate::ApiState;
use crate::audit::Recording;
use crate::auth::Authorization;
use crate::body;
use crate::idempotency::{self, First};
use crate::problem::Problem;
use crate::route::{Audit, Route};

/// A handler panicked. Only the panic hook logs the message, which may contain data of the request.
#[derive(Debug, thiserror::Error)]
#[error("a handler panicked")]
struct HandlerPanicked;

/// Runs a request to its end if it changes something or has an idempotency key.
pub(crate) async fn run(state: &ApiState, request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    // Boxed, so that a request that only reads does not carry it.
    Box::pin(run_to_end(state, request, next)).await.unwrap_or_else(|problem| problem.into_response())
}

async fn run_to_end(state: &ApiState, request: Request, next: Next) -> Result<Response, Problem> {
    let route = request.extensions().get::<Route>().cloned();
    let Some(route) = route else { return Ok(next.run(request).await) };
    let key = idempotency::key_of(&request)?;
    let changes = route.audit != Audit::Nothing;
    if !changes && key.is_none() {
        return Ok(next.run(request).await);
    }
    let (mut head, mut body) = request.into_parts();
    let recording = if changes { Some(Recording::start(state, &route, &mut head).await) } else { None };
    let mut bytes = None;
    if route.takes_body || key.is_some() {
        let read = body::read(&head.headers, body, state).await?;
        body = Body::from(read.clone());
        bytes = Some(read);
    }
    let is_counted = changes && !route.waits_for_mint;
    let client = head.extensions.get::<Authorization>().and_then(Authorization::origin);
    let client = client.filter(|_| is_counted || key.is_some());
    let share = client.map(|client| state.changes_of_keys.take(Some(client))).transpose()?;
    let first = match key {
        None => None,
        Some(key) => match idempotency::turn(state, &mut head, &key, &bytes.unwrap_or_default()).await? {
            Ok(first) => Some(first),
            Err(repeated) => return Ok(repeated),
        },
    };
    let permit = if is_counted {
        // The semaphore is never closed.
        Some(Arc::clone(&state.changes).acquire_owned().await.map_err(Problem::internal)?)
    } else {
        None
    };
    let handling = next.run(Request::from_parts(head, body));
    let state = state.clone();
    let tasks = state.tasks.clone();
    let work = async move {
        let response = match &recording {
            Some(recording) => catch_panic(recording.scope(handling)).await,
            None => catch_panic(handling).await,
        };
        let response = match &first {
            Some(First { call, .. }) => Box::pin(idempotency::keep(&state, call, response)).await,
            None => response,
        };
        let response = match recording {
            Some(recording) => recording.end(&state, response).await,
            None => response,
        };
        drop((first, permit, share));
        response
    };
    // Fails when the runtime ends.
    // Boxed: a task moves its future several times.
    tasks.spawn(Box::pin(work.in_current_span())).await.map_err(Problem::internal)
}

/// The response of a handler, also if it panics.
pub(crate) async fn catch_panic(handling: impl Future<Output = Response>) -> Response {
    let response = AssertUnwindSafe(handling).catch_unwind().await;
    response.unwrap_or_else(|_panic| Problem::internal(HandlerPanicked).into_response())
}
