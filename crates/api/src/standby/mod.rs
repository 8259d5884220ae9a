//! The server of a standby: it forwards every request to the active instance.

mod forwarded_readiness;
mod forwarder;
mod no_active_instance;
mod parts;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection_lease::ConnectionLease;
use crate::connection_table::ConnectionTable;
use crate::endpoints::check_health;
use crate::host_header;
use crate::middleware::finish_response;
use crate::request_id::{RequestId, X_REQUEST_ID};
use crate::server::{ServeOptions, Served, serve_router};
use forwarder::{Forwarded, Forwarder};
pub(crate) use no_active_instance::outcome_unknown;
pub use parts::StandbyParts;

/// Forwards requests on `listener` to the active instance until `stop` is cancelled and every connection has ended.
///
/// Only `GET /health` and `GET /health/ready` are served here.
pub async fn serve_standby(
    listener: &TcpListener,
    parts: StandbyParts,
    options: ServeOptions,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let forwarder = Forwarder::new(&parts, tasks.clone(), stop.clone());
    let router = Router::new()
        .route("/health", get(check_health).fallback(forwarder::forward))
        .route("/health/ready", get(forwarded_readiness::readiness).fallback(forwarder::forward))
        .fallback(forwarder::forward)
        .layer(from_fn_with_state(parts, complete))
        .with_state(forwarder);
    let served = Served { api: router.clone(), router, table: ConnectionTable::default() };
    serve_router(listener, served, options, tasks, stop).await;
}

/// Common to all requests: a request id, and the recognition of clients with the token.
async fn complete(State(parts): State<StandbyParts>, mut request: Request, next: Next) -> Response {
    let request_id = RequestId::of(request.headers(), parts.randomness.as_ref());
    // The active instance uses the same id.
    if let Some(value) = request_id.to_header() {
        request.headers_mut().insert(X_REQUEST_ID, value);
    }
    if parts.tokens.authorize(request.headers()).is_ok()
        && let Some(lease) = request.extensions().get::<ConnectionLease>()
    {
        lease.authenticate(None);
    }
    let mut response = match host_header::check(request.version(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if response.extensions_mut().remove::<Forwarded>().is_none() {
        finish_response(&mut response, &request_id);
    }
    response
}
