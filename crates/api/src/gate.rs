//! The gate in front of every endpoint: what is the same for all calls.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::{FutureExt as _, StreamExt as _};
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::ApiState;
use crate::access::{self, Admission};
use crate::endpoints::ws;
use crate::host;
use crate::local::{self, Peer};
use crate::problem::{ErrorCode, Problem};
use crate::request_id::{RequestId, X_REQUEST_ID};
use crate::server::{FramingError, Lease};
use crate::state::DocsAccess;
use crate::unauthenticated::Summary;

/// Who may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anybody.
    Public,
    /// Whoever carries the token.
    Token,
    /// Whoever carries the token, or asks for a WebSocket without one: they say it there.
    Socket,
    /// Whoever carries the token, also as the password that a browser asks for; for development, a browser on this machine.
    Docs,
}

/// A call that came over a WebSocket, from somebody who has shown the token already. A request extension, which nobody
/// outside can make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted;

/// The gate's own state.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) state: ApiState,
    pub(crate) access: Access,
}

/// How much longer than `limits.request_timeout` a call may take: a handler that waits on purpose says so.
///
/// A request extension.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience(Arc<AtomicU64>);

impl Patience {
    /// The call may take this much longer.
    pub(crate) fn extend(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn extra(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// A panic in a handler. What it said is left to the panic hook: it may hold what the handler held.
#[derive(Debug, thiserror::Error)]
#[error("a handler panicked")]
struct HandlerPanicked;

/// Lets a request in, and its answer out.
pub(crate) async fn gate(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let request_id = RequestId::of(request.headers(), gate.state.randomness.as_ref());
    // On every line of the call, however few `RUST_LOG` lets through: so it is of the highest level.
    let span = tracing::error_span!("request", %request_id, stream_id = tracing::field::Empty);
    async move {
        let started = Instant::now();
        let method = method_name(request.method());
        let path = request.extensions().get::<MatchedPath>().cloned();
        let peer = request.extensions().get::<Peer>().map(|Peer(address)| *address);
        let admitted = gate.admit(&mut request);
        let known = is_known(&request);
        let (mut response, waited) = match admitted {
            Ok(()) => gate.pass(request, next).await,
            Err(problem) => {
                if problem.code() == ErrorCode::Unauthorized && access::has_token(request.headers()) {
                    hold_back(&gate.state, peer).await;
                }
                (problem.into_response(), false)
            }
        };
        finish(&mut response, &request_id);
        let answered = Answered { method, path: path.as_ref(), status: response.status(), latency: started.elapsed() };
        if known {
            log(&answered);
        } else {
            gate.log_unauthenticated(&answered, peer);
        }
        gate.state.meters.answered(&answered, waited);
        response
    }
    .instrument(span)
    .await
}

impl Gate {
    /// Looks at the head of the request only: a stranger's body is not read.
    fn admit(&self, request: &mut Request) -> Result<(), Problem> {
        let over_socket = request.extensions().get::<Admitted>().is_some();
        if !over_socket && !host::is_valid(request.version(), request.headers()) {
            let detail = "the request must name its host in one `Host` header (RFC 9112 section 3.2)";
            return Err(Problem::new(ErrorCode::MalformedRequest, detail));
        }
        if let Some(error) = request.extensions().get::<FramingError>() {
            return Err(Problem::new(ErrorCode::MalformedRequest, error.detail()));
        }
        match self.access {
            Access::Public => Ok(()),
            Access::Socket if may_say_it_later(request.headers()) => Ok(()),
            Access::Docs if self.state.docs == DocsAccess::WithTokenOrLocal && local::is_local(request) => Ok(()),
            Access::Token | Access::Socket | Access::Docs => {
                if !over_socket {
                    let tokens = &self.state.tokens;
                    let admission = match self.access {
                        Access::Docs => tokens.admit_browser(request.headers())?,
                        Access::Public | Access::Token | Access::Socket => tokens.admit(request.headers())?,
                    };
                    if let Some(lease) = request.extensions().get::<Lease>() {
                        lease.authenticate();
                    }
                    request.extensions_mut().insert(admission);
                }
                take_one(&self.state)
            }
        }
    }

    /// As [`log`], for a request without a valid token: with where it came from, and not without end.
    fn log_unauthenticated(&self, answered: &Answered<'_>, peer: Option<IpAddr>) {
        let allowed = may_log(&self.state, peer);
        let Answered { method, status, latency, .. } = answered;
        let (path, status_code, latency_ms) = (answered.route(), status.as_u16(), latency.as_secs_f64() * 1000.0);
        let peer = peer.map(tracing::field::display);
        if allowed && !answered.is_poll() {
            tracing::info!(method, path, status = status_code, latency_ms, peer, "answered");
        } else {
            tracing::debug!(method, path, status = status_code, latency_ms, peer, "answered");
        }
    }

    /// Answers, and tells whether the call waited on purpose.
    async fn pass(&self, mut request: Request, next: Next) -> (Response, bool) {
        let patience = Patience::default();
        request.extensions_mut().insert(patience.clone());
        let admission = request.extensions().get::<Admission>().cloned();
        let response = self.answer(request, next, &patience).await;
        let response = match admission {
            Some(admission) if is_endless(&response) => ends_with(&admission, response),
            _ => response,
        };
        (response, !patience.extra().is_zero())
    }

    async fn answer(&self, request: Request, next: Next, patience: &Patience) -> Response {
        let started = Instant::now();
        let mut limit = self.state.limits.request_timeout;
        let mut answer = std::pin::pin!(AssertUnwindSafe(next.run(request)).catch_unwind());
        loop {
            match tokio::time::timeout_at(started + limit, &mut answer).await {
                Ok(Ok(response)) => return response,
                Ok(Err(_panic)) => return Problem::internal(HandlerPanicked).into_response(),
                Err(_elapsed) => {
                    let extended = self.state.limits.request_timeout.saturating_add(patience.extra());
                    if extended <= limit {
                        let detail = "the call took too long; what it asked for may still happen";
                        return Problem::new(ErrorCode::DeadlineExceeded, detail).retry_after(1).into_response();
                    }
                    limit = extended;
                }
            }
        }
    }
}

/// Whether the response goes on until somebody leaves: an event stream.
pub(crate) fn is_endless(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|content_type| content_type == "text/event-stream")
}

/// The response, which ends when its token is accepted no more.
fn ends_with(admission: &Admission, response: Response) -> Response {
    let (head, body) = response.into_parts();
    let body = body.into_data_stream().take_until(admission.revoked().cancelled_owned());
    Response::from_parts(head, Body::from_stream(body))
}

/// Notes which stream the call is about: the log's lines of it have it from here on.
pub(crate) fn concerns(stream: &impl std::fmt::Display) {
    tracing::Span::current().record("stream_id", tracing::field::display(stream));
}

/// Waits before a wrong token is answered, longer the more of them come from there.
pub(crate) async fn hold_back(state: &ApiState, peer: Option<IpAddr>) {
    let hold = state.unauthenticated.wrong_token(peer, Instant::now());
    if !hold.is_zero() {
        tokio::select! {
            () = state.stop.cancelled() => {}
            () = tokio::time::sleep(hold) => {}
        }
    }
}

/// Whether something that was asked for without a valid token may have a line in the log. Says now and then how much
/// there was.
pub(crate) fn may_log(state: &ApiState, peer: Option<IpAddr>) -> bool {
    let (allowed, summary) = state.unauthenticated.line(Instant::now());
    if let Some(Summary { wrong_tokens, unlogged }) = summary {
        let peer = peer.map(tracing::field::display);
        tracing::warn!(peer, wrong_tokens, unlogged, "requests without a valid token; the last came from this peer");
    }
    allowed
}

/// Whether the request has shown a valid token, on its own or over a WebSocket.
fn is_known(request: &Request) -> bool {
    request.extensions().get::<Admission>().is_some() || request.extensions().get::<Admitted>().is_some()
}

/// Whether the token may come in the first message: it is a WebSocket that is asked for, and no token came with it.
fn may_say_it_later(headers: &HeaderMap) -> bool {
    ws::is_asked_for(headers) && !access::has_token(headers)
}

/// Takes one request out of what `limits.requests_per_second` allows.
///
/// # Errors
/// `rate_limited` when there is none left.
pub(crate) fn take_one(state: &ApiState) -> Result<(), Problem> {
    let Some(rate) = &state.rate else { return Ok(()) };
    rate.take(state.clock.now()).map_err(|seconds| {
        let detail = "more requests per second than limits.requests_per_second allows";
        Problem::new(ErrorCode::RateLimited, detail).retry_after(seconds)
    })
}

/// Writes what every answer has.
pub(crate) fn finish(response: &mut Response, request_id: &RequestId) {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        problem.render(response, request_id);
        if matches!(problem.code(), ErrorCode::Unauthorized | ErrorCode::MalformedRequest) {
            // An unauthenticated peer need not stay: the connection is a place that a caller with the token could have.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
    let headers = response.headers_mut();
    if let Some(value) = request_id.to_header() {
        headers.insert(X_REQUEST_ID, value);
    }
    // Answers hold tokens, invoices, ecash; none of it is for a cache.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// A call and its answer, without anything that a caller wrote.
pub(crate) struct Answered<'a> {
    /// One of HTTP's own, or `other`.
    pub(crate) method: &'static str,
    path: Option<&'a MatchedPath>,
    pub(crate) status: StatusCode,
    pub(crate) latency: Duration,
}

impl Answered<'_> {
    /// The route's pattern, or `-`: what a caller puts into a path or query stays out.
    pub(crate) fn route(&self) -> &str {
        self.path.map_or("-", MatchedPath::as_str)
    }

    /// Reading that went well: thousands per second, and of no interest.
    fn is_poll(&self) -> bool {
        self.status.is_success() && self.method == "GET"
    }
}

/// The request's one line.
fn log(answered: &Answered<'_>) {
    let (method, path, status) = (answered.method, answered.route(), answered.status);
    let status_code = status.as_u16();
    let latency_ms = answered.latency.as_secs_f64() * 1000.0;
    if answered.is_poll() {
        tracing::debug!(method, path, status = status_code, latency_ms, "answered");
    } else {
        tracing::info!(method, path, status = status_code, latency_ms, "answered");
    }
}

/// The method's name; one that is not HTTP's own is a caller's text and stays out of the log.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
