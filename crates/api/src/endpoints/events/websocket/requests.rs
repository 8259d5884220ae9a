//! Requests to endpoints that arrive as messages.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use tower::ServiceExt as _;
use usher_engine::FieldError;

use super::command::RequestCommand;
use super::encode;
use crate::ApiState;
use crate::auth::Authorization;
use crate::middleware::{self, PreAuthenticated};
use crate::peer_address::ClientAddress;
use crate::problem::Problem;
use crate::request_id::RequestId;

/// The running requests of one connection.
pub(super) struct Requests {
    state: ApiState,
    router: Router,
    address: Option<ClientAddress>,
    running: FuturesUnordered<BoxFuture<'static, String>>,
}

impl Requests {
    /// Requests from this address through this router.
    pub(super) fn new(state: ApiState, router: Router, address: Option<ClientAddress>) -> Self {
        Self { state, router, address, running: FuturesUnordered::new() }
    }

    /// Begins a request of this client.
    ///
    /// # Errors
    /// `overloaded` when too many are running.
    pub(super) fn begin(&mut self, id: String, call: RequestCommand, client: Authorization) -> Result<(), Problem> {
        if self.running.len() >= self.state.limits.calls_per_socket {
            return Err(Problem::overloaded("too many requests of this connection are running"));
        }
        let answer = self.router.clone().oneshot(request(call, client, self.address));
        let state = self.state.clone();
        let answer = async move {
            let Ok(mut response) = answer.await;
            if middleware::is_endless(&response) {
                response = refuse_event_stream(&response, &state);
            }
            encode::response(Some(&id), response).await
        };
        self.running.push(answer.boxed());
        Ok(())
    }

    /// The next response. Cancelling this loses nothing; while no request runs, it is never ready.
    pub(super) async fn answer(&mut self) -> String {
        match self.running.next().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    /// Whether none runs.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }
}

/// The error response for a request whose response would never end.
fn refuse_event_stream(response: &Response, state: &ApiState) -> Response {
    let request_id = RequestId::of(response.headers(), state.randomness.as_ref());
    let detail = "responds with an event stream; use the command `subscribe` instead".to_owned();
    let problem = Problem::invalid(vec![FieldError { pointer: "/params/path".to_owned(), detail }]);
    let mut refusal = problem.into_response();
    middleware::finish_response(&mut refusal, &request_id);
    refusal
}

/// The request that a call is. It has no `Accept`: where there is a choice, what comes is JSON and ends. It cannot be
/// upgraded.
fn request(call: RequestCommand, client: Authorization, address: Option<ClientAddress>) -> Request {
    let RequestCommand { method, target, headers, body } = call;
    let mut request = Request::new(body.map_or_else(Body::empty, Body::from));
    *request.method_mut() = method;
    *request.uri_mut() = target.into();
    request.headers_mut().extend(headers);
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request.extensions_mut().insert(PreAuthenticated(client));
    if let Some(address) = address {
        request.extensions_mut().insert(address);
    }
    request
}
