//! Runs page requests that change something to completion, even if the browser disconnects: a change must not stop
//! between the store and memory, and the request may contain something valid only once.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest as _, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

/// Concurrent requests. Others wait; if the browser leaves meanwhile, nothing has changed.
const RUNNING: usize = 1_024;

/// Runs such requests. Cheap to clone.
#[derive(Clone)]
pub struct PageRunner {
    tasks: TaskTracker,
    permits: Arc<Semaphore>,
}

impl PageRunner {
    /// Uses these tasks, which the shutdown waits for.
    pub fn new(tasks: TaskTracker) -> Self {
        Self { tasks, permits: Arc::new(Semaphore::new(RUNNING)) }
    }
}

/// The layer around all pages: runs every request with an unsafe method to completion.
pub async fn run_changes(State(runner): State<PageRunner>, request: Request, next: Next) -> Response {
    if request.method().is_safe() { next.run(request).await } else { run_to_end(State(runner), request, next).await }
}

/// The layer around a page that changes something by GET.
pub async fn run_to_end(State(runner): State<PageRunner>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    // Reading the body may take long and holds no permit.
    let body = match Bytes::from_request(Request::from_parts(head.clone(), body), &()).await {
        Ok(body) => Body::from(body),
        Err(refused) => return refused.into_response(),
    };
    // The semaphore is never closed.
    let permit = Arc::clone(&runner.permits).acquire_owned().await.ok();
    let handling = next.run(Request::from_parts(head, body));
    let work = async move {
        let response = handling.await;
        drop(permit);
        response
    };
    match runner.tasks.spawn(work.in_current_span()).await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(response) => response,
        // Propagated to the caller, which responds as without a task.
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime is shutting down.
        Err(Err(_)) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
