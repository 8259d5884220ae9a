//! Runs the requests for pages that change something to their end, also if the browser disconnects: a change must not be interrupted
//! between the store and memory, and what a browser has brought may be good for once only.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest as _, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

/// Requests that run at a time. Others wait; a browser that leaves meanwhile has changed nothing.
const RUNNING: usize = 1_024;

/// Where such requests run. Cheap to clone.
#[derive(Clone)]
pub struct PageRunner {
    tasks: TaskTracker,
    permits: Arc<Semaphore>,
}

impl PageRunner {
    /// On these tasks, for which the shutdown waits.
    pub fn new(tasks: TaskTracker) -> Self {
        Self { tasks, permits: Arc::new(Semaphore::new(RUNNING)) }
    }
}

/// The layer around all pages: of what is not read, it runs everything to its end.
pub async fn run_changes(State(runner): State<PageRunner>, request: Request, next: Next) -> Response {
    if request.method().is_safe() { next.run(request).await } else { run_to_end(State(runner), request, next).await }
}

/// The layer around a page that changes something although it is read.
pub async fn run_to_end(State(runner): State<PageRunner>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    // It may take its time, and holds up nobody.
    let body = match Bytes::from_request(Request::from_parts(head.clone(), body), &()).await {
        Ok(body) => Body::from(body),
        Err(refused) => return refused.into_response(),
    };
    // It is never closed.
    let permit = Arc::clone(&runner.permits).acquire_owned().await.ok();
    let handling = next.run(Request::from_parts(head, body));
    let work = async move {
        let response = handling.await;
        drop(permit);
        response
    };
    match runner.tasks.spawn(work.in_current_span()).await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(response) => response,
        // Whoever called this responds to it, as to one without a task.
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime ends.
        Err(Err(_)) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
