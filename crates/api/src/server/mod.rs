//! The part that faces strangers: connections.

mod connection;
mod guarded;
mod lease;
mod refusal;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use connection::Connections;
pub(crate) use lease::Lease;
use refusal::Refusals;

/// How connections are treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// Most connections at a time; one more is answered 503 without being read.
    pub max_connections: u32,
    /// How long a new connection may take until the head of its first request has arrived.
    pub first_request_timeout: Duration,
    /// How long a connection may take until the head of its next request has arrived, that is: how long it may idle.
    pub idle_timeout: Duration,
    /// How long a client may take to accept any of what is sent to it.
    pub write_timeout: Duration,
    /// Largest request head, in bytes.
    pub header_bytes: usize,
    /// How long a stop waits for calls that run; then their connections are cut.
    pub grace: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            max_connections: 20_000,
            first_request_timeout: Duration::from_secs(10),
            // Longer than connection pools keep idle connections (Java 30 s, Go 90 s by default but retries, Node 5 s):
            // the side that closes first should be theirs, or a request crosses our closing and is lost.
            idle_timeout: Duration::from_secs(100),
            write_timeout: Duration::from_secs(30),
            header_bytes: 32 * 1024,
            grace: Duration::from_secs(15),
        }
    }
}

/// Pause after an accept that failed for want of something (open files): trying at once would only burn the core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `router` on `listener` until `stop` is cancelled; returns when every connection has ended.
///
/// A stop closes the listener first, lets calls that run be answered, closes idle connections at once, and cuts what
/// is left after `options.grace`. Connections run on `tasks`. Calls that change something run on
/// [`ApiParts::tasks`](crate::ApiParts::tasks) and may outlive this: wait for that tracker too.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    options: ServeOptions,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(options.max_connections as usize));
    let cut = CancellationToken::new();
    let refusals = Refusals::new(tasks.clone());
    let connections = Connections::new(router, &options, stop.clone(), cut.clone());

    let mut full = false;
    while let Some(stream) = accept(&listener, &stop).await {
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => {
                full = false;
                tasks.spawn(connections.run(stream, place));
            }
            Err(_) => {
                // One line when it begins, not one for each of a crowd.
                if !std::mem::replace(&mut full, true) {
                    tracing::warn!(limit = options.max_connections, "as many connections are open as may be: refusing");
                }
                refusals.refuse(stream);
            }
        }
    }
    drop(listener);

    let all = places.acquire_many(options.max_connections);
    if tokio::time::timeout(options.grace, all).await.is_err() {
        let left = options.max_connections as usize - places.available_permits();
        tracing::warn!(connections = left, "calls still run after the grace period: cutting their connections");
        cut.cancel();
        drop(places.acquire_many(options.max_connections).await);
    }
}

/// The next connection; `None` when it is time to stop.
async fn accept(listener: &TcpListener, stop: &CancellationToken) -> Option<TcpStream> {
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _peer)) => return Some(stream),
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

/// Whether an accept failed since its client had gone already, which says nothing about the next one.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
