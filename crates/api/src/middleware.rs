//! The middleware around every endpoint: request id, `Host`, authentication, rate and time limits, the shape
//! of errors, and the log line and metric of the request.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, UPGRADE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::audit;
use crate::auth::{self, AuthPolicy, Authorization, RefusedClient};
use crate::auth_failure_throttle::{LOGGED_BURST, Summary, WrongToken};
use crate::connection_lease::ConnectionLease;
use crate::key_rate_limit::KeyQuota;
use crate::peer_address::{ClientAddress, Peer};
use crate::problem::{ErrorCode, Problem};
use crate::remarks::Remarks;
use crate::request_id::{RequestId, X_REQUEST_ID};
use crate::request_log::{self, CompletedRequest};
use crate::route::Audit;
use crate::route_table::RouteTable;
use crate::runner::{self, catch_panic};
use crate::{ApiState, TrustedProxies, console, header_list, host_header, local_request};

/// Marks a request over a WebSocket whose client has sent the token or a key. A request extension.
#[derive(Clone, Debug)]
pub(crate) struct PreAuthenticated(pub(crate) Authorization);

#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) state: ApiState,
    pub(crate) policy: AuthPolicy,
    pub(crate) routes: Arc<RouteTable>,
    pub(crate) trusted_proxies: TrustedProxies,
}

/// The extra time beyond `limits.request_timeout` for a request whose handler waits on purpose. A request extension.
#[derive(Clone, Debug, Default)]
pub struct DeadlineExtension(Arc<AtomicU64>);

impl DeadlineExtension {
    /// Adds to the extra time.
    pub fn extend(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn total(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) async fn handle(State(context): State<Context>, request: Request, next: Next) -> Response {
    let request_id = RequestId::of(request.headers(), context.state.randomness.as_ref());
    // At the highest level, so that every log line of the request contains it, whatever `RUST_LOG` filters.
    let span = tracing::error_span!("request", %request_id, stream_id = tracing::field::Empty);
    respond(context, request_id, request, next).instrument(span).await
}

async fn respond(context: Context, request_id: RequestId, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    request.extensions_mut().insert(request_id.clone());
    let remarks = Remarks::default();
    request.extensions_mut().insert(remarks.clone());
    let method = request_log::method_name(request.method());
    let path = request.extensions().get::<MatchedPath>().cloned();
    let peer = request.extensions().get::<Peer>().map(|Peer(address)| *address);
    let checked = context.check(&mut request);
    // Behind a configured proxy, the client of the proxy.
    let client = request.extensions().get::<ClientAddress>().map_or(peer, |ClientAddress(address)| Some(*address));
    let authenticated = is_authenticated(&request);
    let quota = request.extensions().get::<KeyQuota>().copied();
    let (mut response, waited) = match checked {
        Ok(()) => context.run(request, next).await,
        Err(problem) => {
            let has_failed = matches!(problem.code(), ErrorCode::Unauthorized | ErrorCode::NetworkNotAllowed);
            if has_failed && auth::has_token(request.headers()) {
                delay_wrong_token(&context.state, client).await;
            }
            audit::record_refusal(&context.state, request, problem.code()).await;
            (problem.into_response(), false)
        }
    };
    if response.extensions().get::<Problem>().is_some_and(|problem| problem.code() == ErrorCode::MethodNotAllowed)
        && let Some(methods) = path.as_ref().and_then(|path| context.routes.methods(context.path_of_api(path.as_str())))
    {
        response.extensions_mut().insert(Problem::new(ErrorCode::MethodNotAllowed, format!("use {methods}")));
    }
    finish_response(&mut response, &request_id);
    if let Some(quota) = quota {
        quota.write(response.headers_mut());
    }
    let route = path.as_ref().map_or("-", MatchedPath::as_str);
    remarks.write(response.headers_mut(), route, context.state.is_development);
    let completed = CompletedRequest { method, route, status: response.status(), latency: started.elapsed() };
    if authenticated {
        completed.log();
    } else {
        completed.log_unauthenticated(client, may_log_unauthenticated(&context.state, client));
    }
    let CompletedRequest { method, route, status, latency } = completed;
    context.state.metrics.observe_request(method, route, status, latency, waited);
    response
}

impl Context {
    pub(crate) fn public(state: ApiState) -> Self {
        let (routes, trusted_proxies) = (Arc::default(), TrustedProxies::default());
        Self { state, policy: AuthPolicy::Public, routes, trusted_proxies }
    }

    /// Checks the head of the request. The body of an unauthenticated request is not read.
    fn check(&self, request: &mut Request) -> Result<(), Problem> {
        let pre_authenticated = request.extensions().get::<PreAuthenticated>().cloned();
        if pre_authenticated.is_none() {
            host_header::check(request.version(), request.headers())?;
            if let Some(Peer(peer)) = request.extensions().get::<Peer>().copied() {
                let client = self.trusted_proxies.client_address(peer, request.headers());
                request.extensions_mut().insert(ClientAddress(client));
            }
        }
        match self.policy {
            AuthPolicy::Public => Ok(()),
            AuthPolicy::WebSocket if authenticates_later(request.headers()) => Ok(()),
            AuthPolicy::Docs if self.state.is_development && local_request::is_local(request) => Ok(()),
            AuthPolicy::Client | AuthPolicy::WebSocket | AuthPolicy::Docs | AuthPolicy::Console => {
                let path = request.extensions().get::<MatchedPath>();
                let path = path.map(|path| self.path_of_api(path.as_str()));
                let route = path.and_then(|path| self.routes.get(request.method(), path)).cloned();
                let access = route.as_ref().and_then(|route| route.access);
                let changes = route.as_ref().is_none_or(|route| route.audit != Audit::Nothing);
                if let Some(route) = route {
                    request.extensions_mut().insert(route);
                }
                let authorization = match pre_authenticated {
                    Some(PreAuthenticated(authorization)) if authorization.is_revoked() => return Err(auth::revoked()),
                    Some(PreAuthenticated(authorization)) => authorization,
                    None => self.authenticate(request)?,
                };
                authorization.note_use(self.state.clock.now());
                request.extensions_mut().insert(authorization.clone());
                request.extensions_mut().insert(authorization.requester());
                if let Some(quota) = take_key_quota(&self.state, &authorization) {
                    request.extensions_mut().insert(quota);
                    quota.check()?;
                }
                access.map_or(Ok(()), |access| access.check(&authorization, changes))?;
                check_rate_limit(&self.state)
            }
        }
    }

    /// The path of an endpoint, which the console has below its own.
    fn path_of_api<'a>(&self, path: &'a str) -> &'a str {
        let rest = path.split_once(console::API).map(|(_, rest)| rest);
        rest.filter(|_| self.policy == AuthPolicy::Console).unwrap_or(path)
    }

    fn authenticate(&self, request: &mut Request) -> Result<Authorization, Problem> {
        let tokens = &self.state.tokens;
        let authorization = match self.policy {
            AuthPolicy::Docs => tokens.authorize_browser(request.headers())?,
            AuthPolicy::Console => console::authorize(&self.state, request)?,
            AuthPolicy::Public | AuthPolicy::Client | AuthPolicy::WebSocket => tokens.authorize(request.headers())?,
        };
        if let Err(problem) = check_network(&authorization, request.extensions().get().copied()) {
            request.extensions_mut().insert(RefusedClient(authorization));
            return Err(problem);
        }
        if let Some(lease) = request.extensions().get::<ConnectionLease>() {
            lease.authenticate(authorization.origin());
        }
        Ok(authorization)
    }

    /// Runs the handler. Also returns whether it waited on purpose.
    async fn run(&self, mut request: Request, next: Next) -> (Response, bool) {
        let extension = DeadlineExtension::default();
        request.extensions_mut().insert(extension.clone());
        let authorization = request.extensions().get::<Authorization>().cloned();
        let response = self.run_until_deadline(request, next, &extension).await;
        let response = match authorization {
            Some(authorization) if is_endless(&response) => end_when_revoked(&authorization, response),
            _ => response,
        };
        (response, !extension.total().is_zero())
    }

    async fn run_until_deadline(&self, request: Request, next: Next, extension: &DeadlineExtension) -> Response {
        let started = Instant::now();
        let mut limit = self.state.limits.request_timeout;
        let mut response = std::pin::pin!(catch_panic(runner::run(&self.state, request, next)));
        loop {
            match tokio::time::timeout_at(started + limit, &mut response).await {
                Ok(response) => return response,
                Err(_elapsed) => {
                    let extended = self.state.limits.request_timeout.saturating_add(extension.total());
                    if extended <= limit {
                        let detail = "the request took too long; it may still take effect";
                        return Problem::new(ErrorCode::DeadlineExceeded, detail).retry_after(1).into_response();
                    }
                    limit = extended;
                }
            }
        }
    }
}

/// Counts a request towards the key's `requests_per_second`, if it has one.
pub(crate) fn take_key_quota(state: &ApiState, authorization: &Authorization) -> Option<KeyQuota> {
    let limit = authorization.terms()?.requests_per_second?;
    Some(state.key_rates.take(authorization.key_id()?, limit, state.clock.now()))
}

/// Passes if the key is accepted from this address.
pub(crate) fn check_network(authorization: &Authorization, client: Option<ClientAddress>) -> Result<(), Problem> {
    let client = client.map(|ClientAddress(address)| address);
    if authorization.terms().is_none_or(|terms| terms.admits(client)) {
        return Ok(());
    }
    let client = client.map_or_else(|| "an unknown address".to_owned(), |client| client.to_canonical().to_string());
    let detail = format!("the key is not accepted from {client}; its `networks` name from where it is");
    Err(Problem::new(ErrorCode::NetworkNotAllowed, detail))
}

/// Whether the response lasts until one side ends it: an event stream.
pub(crate) fn is_endless(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|content_type| content_type == "text/event-stream")
}

fn end_when_revoked(authorization: &Authorization, response: Response) -> Response {
    let (head, body) = response.into_parts();
    let body = body.into_data_stream().take_until(authorization.revoked().cancelled_owned());
    Response::from_parts(head, Body::from_stream(body))
}

pub(crate) async fn delay_wrong_token(state: &ApiState, peer: Option<IpAddr>) {
    let WrongToken { delay, is_burst } = state.auth_failure_throttle.wrong_token(peer, Instant::now());
    if let Some(peer) = peer.filter(|_| is_burst) {
        // docs/fail2ban/usher.conf matches this line.
        tracing::warn!("authentication failed {LOGGED_BURST} times within a minute from {}", peer.to_canonical());
    }
    if !delay.is_zero() {
        tokio::select! {
            () = state.stop.cancelled() => {}
            () = tokio::time::sleep(delay) => {}
        }
    }
}

/// Whether to log a request without a valid token. Logs a summary once a minute.
pub(crate) fn may_log_unauthenticated(state: &ApiState, peer: Option<IpAddr>) -> bool {
    let (allowed, summary) = state.auth_failure_throttle.line(Instant::now());
    if let Some(Summary { wrong_tokens, unlogged }) = summary {
        let peer = peer.map(tracing::field::display);
        tracing::warn!(peer, wrong_tokens, unlogged, "requests without a valid token; the last came from this peer");
    }
    allowed
}

/// Whether the request has a valid token, its own or that of its WebSocket.
fn is_authenticated(request: &Request) -> bool {
    let extensions = request.extensions();
    extensions.get::<Authorization>().is_some() || extensions.get::<PreAuthenticated>().is_some()
}

/// Whether the token may follow in the first message: the request opens a WebSocket and has no token.
fn authenticates_later(headers: &HeaderMap) -> bool {
    is_upgrade(headers) && !auth::has_token(headers)
}

/// Whether the request asks for an upgrade to a WebSocket, valid or not.
fn is_upgrade(headers: &HeaderMap) -> bool {
    header_list::contains(headers, UPGRADE, b"websocket")
}

/// Counts a request towards `limits.requests_per_second`; `rate_limited` if the limit is exceeded.
pub(crate) fn check_rate_limit(state: &ApiState) -> Result<(), Problem> {
    let Some(rate) = &state.rate else { return Ok(()) };
    rate.take(state.clock.now()).map_err(|seconds| {
        let detail = "more requests per second than limits.requests_per_second allows";
        Problem::new(ErrorCode::RateLimited, detail).retry_after(seconds)
    })
}

/// Renders a problem document and sets the common headers of responses.
pub(crate) fn finish_response(response: &mut Response, request_id: &RequestId) {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        problem.render(response, request_id);
        if matches!(problem.code(), ErrorCode::Unauthorized | ErrorCode::MalformedRequest) {
            // Frees the connection for a client with the token.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
    let headers = response.headers_mut();
    if let Some(value) = request_id.to_header() {
        headers.insert(X_REQUEST_ID, value);
    }
    // Responses contain tokens, invoices and ecash, which must not be cached; the files of the console never change.
    if headers.get(CACHE_CONTROL).is_none_or(|value| !value.as_bytes().ends_with(b"immutable")) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}
