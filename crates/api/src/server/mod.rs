//! Accepts connections, limits them, and stops.

mod connection;
mod options;
mod refusal;

use std::borrow::Borrow;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use connection::Connections;
pub use options::{ServeOptions, Surface};
use refusal::Refusals;

use crate::connection_table::ConnectionTable;
use crate::{ApiState, Routes, router};

/// The interval between two log lines about evicted connections.
const EVICTED_LINE_EVERY: Duration = Duration::from_secs(60);

/// The pause after an accept that failed because a resource is exhausted (open files): an immediate retry would only
/// use the CPU.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `options.surface` on `listener` until `stop` is cancelled; returns when every connection has ended.
///
/// A stop closes the listener first, lets running calls finish, closes idle connections immediately, and cuts the
/// remaining ones after `options.grace`. Connections run on `tasks`. Requests that change something run on
/// [`ApiParts::tasks`](crate::ApiParts::tasks) and may outlive this: wait for that tracker too.
pub async fn serve(
    listener: TcpListener,
    state: ApiState,
    routes: Routes,
    options: ServeOptions,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    // Not the proxies of the pages: anybody who connects from their address could forge another one.
    let api = router::api(state.clone(), routes, options.trusted_api_proxies.clone());
    let table = state.connections.clone();
    let served = Served { table, router: router::router(state, api.clone(), &options), api };
    serve_router(listener, served, options, tasks, stop).await;
}

/// The routers and connections of a listener.
pub(crate) struct Served {
    /// For HTTP.
    pub(crate) router: Router,
    /// For WebSockets.
    pub(crate) api: Router,
    pub(crate) table: ConnectionTable,
}

pub(crate) async fn serve_router(
    listener: impl Borrow<TcpListener>,
    Served { router, api, table }: Served,
    options: ServeOptions,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let bounds = options.bounds();
    // One token per connection, including connections upgraded to WebSockets.
    let open = TaskTracker::new();
    let cut = CancellationToken::new();
    let refusals = Refusals::new(tasks.clone());
    let connections = Connections::new(router, api, &options, stop.clone());

    let (mut full, mut evicted_line_at) = (false, None);
    while let Some((stream, peer)) = accept(listener.borrow(), &stop).await {
        let close = cut.child_token();
        match table.enter(Some(peer), close.clone(), bounds) {
            Some((place, evicted)) => {
                full = false;
                if evicted && evicted_line_at.is_none_or(|at| at <= Instant::now()) {
                    evicted_line_at = Some(Instant::now() + EVICTED_LINE_EVERY);
                    let closed = table.counts().evicted;
                    tracing::warn!(
                        %peer,
                        closed,
                        "too many connections without the token: the oldest are closed for new ones"
                    );
                }
                tasks.spawn(connections.run(stream, place, open.token(), close));
            }
            None => {
                // One line when the limit is reached, not one per connection.
                if !std::mem::replace(&mut full, true) {
                    tracing::warn!(
                        limit = options.max_connections,
                        "limits.max_connections is reached: refusing connections"
                    );
                }
                refusals.refuse(stream);
            }
        }
    }
    drop(listener);

    open.close();
    if tokio::time::timeout(options.grace, open.wait()).await.is_err() {
        tracing::warn!(
            connections = open.len(),
            "requests are still running after the grace period: closing their connections"
        );
        cut.cancel();
        open.wait().await;
    }
}

/// The next connection; `None` on stop.
async fn accept(listener: &TcpListener, stop: &CancellationToken) -> Option<(TcpStream, IpAddr)> {
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => return Some((stream, peer.ip())),
            Err(error) if is_of_the_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted now");
                tokio::select! {
                    () = stop.cancelled() => return None,
                    () = tokio::time::sleep(ACCEPT_PAUSE) => {}
                }
            }
        }
    }
}

/// Whether an accept failed because its client had already disconnected, which does not affect the next accept.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
