//! The router: all endpoints, with the middleware around them.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use http::header::ACCEPT;
use http::{HeaderValue, Method, Uri};
use tower::{ServiceExt as _, service_fn};
use utoipa::openapi::OpenApi;

use crate::auth::AuthPolicy;
use crate::client_network;
use crate::console;
use crate::endpoint_group::Endpoint;
use crate::endpoints;
use crate::local_request;
use crate::middleware::{self, Context};
use crate::openapi::document;
use crate::problem::{ErrorCode, Problem};
use crate::route_table::RouteTable;
use crate::{ApiState, ServeOptions, Surface, TrustedProxies};

/// The OpenAPI 3.1 document of the API; the committed one is `docs/openapi.json`.
pub fn openapi() -> OpenApi {
    document(endpoints::groups())
}

/// What a listener serves: the [`api`] and the rest of its surface.
pub(crate) fn router(state: ApiState, api: Router, options: &ServeOptions) -> Router {
    let of_pages = options.trusted_proxies.clone();
    match options.surface {
        Surface::Everything => {
            let console = console(&state, &of_pages);
            api.merge(local(state.clone())).merge(pages(state, of_pages)).merge(console)
        }
        Surface::Api => api.merge(local(state)),
        Surface::Pages => public(state.clone(), of_pages.clone()).merge(console(&state, &of_pages)),
    }
}

/// The pages for users' browsers, with the same middleware as the API.
fn pages(state: ApiState, trusted_proxies: TrustedProxies) -> Router {
    let pages = state.pages.clone().layer(from_fn_with_state(trusted_proxies, client_network::identify));
    pages.layer(from_fn_with_state(Context::public(state), middleware::handle))
}

/// The routes for browsers on this machine.
fn local(state: ApiState) -> Router {
    let local = state.local.clone().layer(from_fn(local_request::require_own_page));
    local.layer(from_fn_with_state(Context::public(state), middleware::handle))
}

/// The pages and the service's `nostr.json`, for a listener on the internet.
fn public(state: ApiState, trusted_proxies: TrustedProxies) -> Router {
    let all_pages = state.pages.clone();
    let pages = all_pages.clone().layer(from_fn_with_state(trusted_proxies, client_network::identify));
    let context = Context::public(state.clone());
    let name = endpoints::own_name().with_state(state).method_not_allowed_fallback(method_not_allowed);
    name.merge(pages)
        .fallback(move |request| nothing_here(all_pages, request))
        .layer(from_fn_with_state(context, middleware::handle))
}

/// What the program of the console requests: its session, and the endpoints of the API below a path of its own, with
/// the session in place of a key.
fn console(state: &ApiState, trusted_proxies: &TrustedProxies) -> Router {
    let Some(options) = &state.console else { return Router::new() };
    let policy = AuthPolicy::Console;
    let context = Context { policy, trusted_proxies: trusted_proxies.clone(), ..Context::public(state.clone()) };
    let session = console::session_routes().method_not_allowed_fallback(method_not_allowed);
    let session = session.layer(from_fn_with_state(context.clone(), middleware::handle));
    // Made at the first request: it doubles the routes that a start makes.
    let api = Arc::new(LazyLock::new(|| api_of_console(context)));
    let api = service_fn(move |request| Router::clone(&api).oneshot(request));
    let console = session.with_state(state.clone()).nest_service(console::API, api);
    match options.base() {
        // A proxy may remove the path of `pages.public_url`, or forward it.
        Some(base) => console.clone().nest(&base, console),
        None => console,
    }
}

fn api_of_console(mut context: Context) -> Router {
    let groups = endpoints::groups::<()>();
    context.routes = Arc::new(RouteTable::of(&groups));
    let state = context.state.clone();
    let of_clients = |endpoint: &Endpoint<()>| endpoint.policy == AuthPolicy::Client;
    let endpoints = groups.into_iter().flat_map(|group| group.endpoints).filter(of_clients);
    let api = endpoints.fold(state.test_routes.clone(), |api, endpoint| api.route(&endpoint.path, endpoint.router));
    let api = api.method_not_allowed_fallback(method_not_allowed).fallback(route_not_found);
    api.layer(from_fn_with_state(context, middleware::handle)).with_state(state)
}

/// The routes of all endpoints, without what they serve: a start makes them beside its other work.
pub struct Routes {
    table: Arc<RouteTable>,
    routers: [(AuthPolicy, Router<ApiState>); 4],
}

impl Routes {
    /// All of them.
    pub fn all() -> Self {
        let groups = endpoints::groups::<()>();
        let table = Arc::new(RouteTable::of(&groups));
        let mut endpoints: Vec<_> = groups.into_iter().flat_map(|group| group.endpoints).collect();
        let routers = AuthPolicy::ALL.map(|policy| {
            let endpoints = endpoints.extract_if(.., |endpoint| endpoint.policy == policy);
            (policy, endpoints.fold(Router::new(), |router, endpoint| router.route(&endpoint.path, endpoint.router)))
        });
        Self { table, routers }
    }
}

/// The whole API. Unknown paths require the token as well, so that unauthenticated peers learn nothing.
pub(crate) fn api(state: ApiState, Routes { table, routers }: Routes, trusted_proxies: TrustedProxies) -> Router {
    let routers = routers.map(|(policy, router)| {
        let router = if policy == AuthPolicy::Client {
            let router = router.merge(state.test_routes.clone()).method_not_allowed_fallback(method_not_allowed);
            router.fallback(route_not_found)
        } else {
            router.method_not_allowed_fallback(method_not_allowed)
        };
        let (routes, trusted_proxies) = (Arc::clone(&table), trusted_proxies.clone());
        let context = Context { state: state.clone(), policy, routes, trusted_proxies };
        router.layer(from_fn_with_state(context, middleware::handle))
    });
    routers.into_iter().reduce(Router::merge).unwrap_or_default().with_state(state)
}

async fn route_not_found() -> Problem {
    Problem::new(ErrorCode::RouteNotFound, "there is no such path; `/docs` and docs/api.md list all paths")
}

/// A page for a browser, JSON for other clients.
async fn nothing_here(pages: Router, request: Request) -> Response {
    let accepts_html = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("text/html"));
    let is_browser = request.method() == Method::GET && request.headers().get_all(ACCEPT).iter().any(accepts_html);
    if !is_browser {
        return Problem::new(ErrorCode::RouteNotFound, "there is no such page").into_response();
    }
    let mut page = Request::new(Body::empty());
    *page.uri_mut() = Uri::from_static("/pages/none");
    *page.headers_mut() = request.headers().clone();
    match pages.oneshot(page).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

async fn method_not_allowed() -> Problem {
    Problem::new(ErrorCode::MethodNotAllowed, "the `Allow` header lists the methods of this path")
}
