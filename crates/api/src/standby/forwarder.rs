//! Forwards a request to the active instance, and returns its response.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, COOKIE, EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version};
use http_body::Body as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::no_active_instance::{none, outcome_unknown, unreachable};
use super::parts::StandbyParts;
use crate::body;
use crate::connection_lease::ConnectionLease;
use crate::forwarding_key::USHER_FORWARDED;
use crate::header_list;
use crate::peer_address::Peer;
use crate::problem::{ErrorCode, Problem};

/// The time limit for connecting to the active instance, which is in the same network.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a connection is kept without a request; shorter than [`ServeOptions::idle_timeout`](crate::ServeOptions).
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// After this time, a WebSocket counts as authenticated: the active instance closes unauthenticated ones earlier.
const SOCKET_LASTS: Duration = Duration::from_secs(15);

/// Headers of one connection only (RFC 9110 section 7.6.1), beside those named in `Connection`.
const HOP_BY_HOP: [HeaderName; 7] =
    [CONNECTION, EXPECT, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];

/// A response is incomplete.
#[derive(Debug, thiserror::Error)]
#[error("another instance became active, or this one stops")]
struct BrokenOff;

/// Headers that are forwarded even if `Connection` names them.
const END_TO_END: [HeaderName; 3] = [AUTHORIZATION, COOKIE, HOST];

/// Marks a response of the active instance. A response extension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forwarded;

/// A client of the active instance. Cheap to clone.
#[derive(Clone)]
pub(super) struct Forwarder {
    client: Client<HttpConnector, Body>,
    parts: StandbyParts,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Forwarder {
    pub(super) fn new(parts: &StandbyParts, tasks: TaskTracker, stop: CancellationToken) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE_TIMEOUT).build(connector);
        Self { client, parts: parts.clone(), tasks, stop }
    }

    /// Forwards a request, and returns the response of the active instance.
    ///
    /// # Errors
    /// `no_active_instance` if no instance is active, or if another one becomes active before the response.
    pub(super) async fn send(&self, mut request: Request) -> Result<Response, Problem> {
        if self.parts.key.client(&request).is_some() {
            return Err(none("the instance to which the request was forwarded is not active either"));
        }
        // Refused here: the active instance would close while the body is being sent, which can lose the response.
        if request.body().size_hint().lower() > u64::try_from(self.parts.body_bytes).unwrap_or(u64::MAX) {
            return Err(body::too_large(self.parts.body_bytes));
        }
        let mut active = self.parts.active.clone();
        let Some(address) = active.borrow_and_update().clone() else {
            return Err(none("no instance of this service is active at the moment"));
        };
        let lease = request.extensions().get::<ConnectionLease>().cloned();
        let client_side = is_upgrade(&request).then(|| hyper::upgrade::on(&mut request));
        self.rewrite(&mut request, &address)?;
        let mut response = tokio::select! {
            response = self.client.request(request) => response.map_err(|error| {
                tracing::debug!(%address, error = &error as &dyn std::error::Error, "a request was not forwarded");
                unreachable()
            })?,
            () = changed(&mut active) => {
                return Err(outcome_unknown());
            }
        };
        let upgrade = response.headers().get(UPGRADE).cloned();
        remove_hop_by_hop(response.headers_mut(), upgrade);
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let Some(client_side) = client_side else { return Err(none("the active instance has upgraded unasked")) };
            let active_side = hyper::upgrade::on(&mut response);
            let end = self.end(active);
            self.tasks.spawn(async move {
                let (Ok(client_side), Ok(active_side)) = tokio::join!(client_side, active_side) else { return };
                let (mut client_side, mut active_side) = (TokioIo::new(client_side), TokioIo::new(active_side));
                let cut = lease.as_ref().map(ConnectionLease::cut).unwrap_or_default();
                let lasting = async {
                    tokio::time::sleep(SOCKET_LASTS).await;
                    // The active instance knows the client, and counts the connection.
                    lease.iter().for_each(|lease| lease.authenticate(None));
                    std::future::pending().await
                };
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client_side, &mut active_side) => {}
                    () = end => {}
                    () = cut.cancelled() => {}
                    () = lasting => {}
                }
            });
            return Ok(response.map(|_| Body::empty()));
        }
        let end = self.end(active);
        let mut response = response.map(|body| until(end, Body::new(body)));
        response.extensions_mut().insert(Forwarded);
        Ok(response)
    }

    /// Returns when a begun response must end: another instance is active (the former one may never end the response),
    /// or this one stops.
    fn end(&self, mut active: watch::Receiver<Option<Arc<str>>>) -> impl Future<Output = ()> + Send + use<> {
        let stop = self.stop.child_token();
        async move {
            tokio::select! {
                () = changed(&mut active) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Why no instance may be active, for callers with the token only: messages of a database name users and databases.
    pub(super) fn database_failure(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        self.parts.tokens.authorize(headers).ok()?;
        self.parts.database_failure.borrow().clone()
    }

    /// Turns the request into one for the active instance.
    fn rewrite(&self, request: &mut Request, address: &str) -> Result<(), Problem> {
        let client = request.extensions().get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |Peer(client)| *client);
        let target = request.uri().path_and_query().map_or("*", |target| target.as_str());
        if !target.starts_with('/') || request.method() == Method::CONNECT {
            return Err(Problem::new(ErrorCode::RouteNotFound, "the target of the request is no path"));
        }
        let uri: Uri = format!("http://{address}{target}").parse().map_err(|error| {
            tracing::error!(%address, %error, "the address of the active instance cannot be used");
            none("the address of the active instance cannot be used")
        })?;
        let forwarded = self.parts.key.header_value(client, request);
        let upgrade = is_upgrade(request).then(|| request.headers().get(UPGRADE).cloned()).flatten();
        *request.uri_mut() = uri;
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        remove_hop_by_hop(headers, upgrade);
        headers.remove(USHER_FORWARDED);
        if let Some(forwarded) = forwarded {
            headers.insert(USHER_FORWARDED, forwarded);
        }
        headers.append(VIA, HeaderValue::from_static("1.1 usher"));
        Ok(())
    }
}

pub(super) async fn forward(State(forwarder): State<Forwarder>, request: Request) -> Response {
    let page = asks_for_page(&request).then(|| head(&request));
    match (forwarder.send(request).await, page) {
        (Ok(response), _) => response,
        (Err(problem), Some(page)) if problem.code() == ErrorCode::NoActiveInstance => (forwarder.parts.page)(&page),
        (Err(problem), _) => problem.into_response(),
    }
}

/// Whether a browser opens a page: it can only wait and reload.
fn asks_for_page(request: &Request) -> bool {
    request.method() == Method::GET && header_list::contains(request.headers(), ACCEPT, b"text/html")
}

fn head(request: &Request) -> Parts {
    let (mut head, ()) = Request::new(()).into_parts();
    head.uri = request.uri().clone();
    head.headers = request.headers().clone();
    head
}

/// A body that is cut off at `end`.
fn until(end: impl Future<Output = ()> + Send + 'static, body: Body) -> Body {
    let (broken_off, is_broken_off) = tokio::sync::oneshot::channel();
    let body = body.into_data_stream().take_until(async move {
        end.await;
        let _ = broken_off.send(axum::Error::new(BrokenOff));
    });
    let end = stream::once(is_broken_off).filter_map(|broken_off| async { broken_off.ok().map(Err) });
    Body::from_stream(body.chain(end))
}

/// Returns when another instance, or none, is active.
async fn changed(active: &mut watch::Receiver<Option<Arc<str>>>) {
    if active.changed().await.is_err() {
        // The sender is gone: no further change.
        std::future::pending::<()>().await;
    }
}

/// Whether the request asks for a protocol upgrade, as in HTTP/1.1.
fn is_upgrade(request: &Request) -> bool {
    let asks = header_list::contains(request.headers(), CONNECTION, b"upgrade");
    request.version() == Version::HTTP_11 && asks && request.headers().contains_key(UPGRADE)
}

/// Removes the headers of one connection, except those of this `Upgrade`.
fn remove_hop_by_hop(headers: &mut HeaderMap, upgrade: Option<HeaderValue>) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        // A client cannot have the headers removed that identify it to the active instance.
        .filter(|name| !END_TO_END.contains(name) && !name.as_str().starts_with("x-forwarded-"))
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, upgrade);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_one_connection_are_not_forwarded() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Private, Authorization, host"),
            ("keep-alive", "timeout=5"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("authorization", "Bearer x"),
            ("host", "usher.example"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        remove_hop_by_hop(&mut headers, None);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["authorization", "host"]);

        let mut handshake = HeaderMap::new();
        handshake.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        handshake.insert(UPGRADE, HeaderValue::from_static("websocket"));
        remove_hop_by_hop(&mut handshake, Some(HeaderValue::from_static("websocket")));
        assert!(handshake[CONNECTION] == "upgrade" && handshake[UPGRADE] == "websocket", "{handshake:?}");
    }
}
