//! The part that faces strangers: connections.

mod connection;
mod lingering_socket;
mod refusal;

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use connection::Connections;
use refusal::Refusals;

use crate::connection_table::Bounds;
use crate::{ApiState, router};

/// How connections are treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// Most connections at a time. One more takes the place of the oldest that has not sent the token; when all have,
    /// it is answered 503 without being read.
    pub max_connections: u32,
    /// Most connections at a time that have not sent the token, and never more than half of [`Self::max_connections`]:
    /// the rest is for callers with the token. One more takes the place of the oldest.
    pub max_unauthenticated: u32,
    /// Most of these from one address (of IPv6: one network of 64 bits). One more takes the place of the oldest from there.
    /// Loopback is exempt: behind a proxy on this machine everybody has that address.
    pub max_unauthenticated_per_address: u32,
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
            max_unauthenticated: 5_000,
            max_unauthenticated_per_address: 1_000,
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

impl ServeOptions {
    fn bounds(&self) -> Bounds {
        let all = self.max_connections.max(1) as usize;
        let unauthenticated = (self.max_unauthenticated as usize).clamp(1, (all / 2).max(1));
        let per_address = (self.max_unauthenticated_per_address as usize).clamp(1, unauthenticated);
        Bounds { all, unauthenticated, per_address }
    }
}

/// Between two lines of the log which say that connections were closed for others.
const EVICTED_LINE_EVERY: Duration = Duration::from_secs(60);

/// Pause after an accept that failed for want of something (open files): trying at once would only burn the core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the whole interface on `listener` until `stop` is cancelled; returns when every connection has ended.
///
/// A stop closes the listener first, lets calls that run be answered, closes idle connections at once, and cuts what
/// is left after `options.grace`. Connections run on `tasks`. Requests that change something run on
/// [`ApiParts::tasks`](crate::ApiParts::tasks) and may outlive this: wait for that tracker too.
pub async fn serve(
    listener: TcpListener,
    state: ApiState,
    options: ServeOptions,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let bounds = options.bounds();
    let table = state.connections.clone();
    // One token for each connection, also for those that have become WebSockets.
    let open = TaskTracker::new();
    let cut = CancellationToken::new();
    let refusals = Refusals::new(tasks.clone());
    let connections = Connections::new(router::router(state), &options, stop.clone());

    let (mut full, mut evicted_line_at) = (false, None);
    while let Some((stream, peer)) = accept(&listener, &stop).await {
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
                // One line when it begins, not one for each of a crowd.
                if !std::mem::replace(&mut full, true) {
                    tracing::warn!(limit = options.max_connections, "as many connections are open as may be: refusing");
                }
                refusals.refuse(stream);
            }
        }
    }
    drop(listener);

    open.close();
    if tokio::time::timeout(options.grace, open.wait()).await.is_err() {
        tracing::warn!(connections = open.len(), "calls still run after the grace period: cutting their connections");
        cut.cancel();
        open.wait().await;
    }
}

/// The next connection; `None` when it is time to stop.
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

/// Whether an accept failed since its client had gone already, which says nothing about the next one.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
