//! The list of endpoints.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::ApiState;
use crate::endpoints::{
    authenticate_key, calendar_next_occurrence, docs, events, health, health_ready, invoices, jwt_issue, jwt_verify,
    key_handshake, key_handshake_close, key_handshake_list, metrics, nip05, openapi_json, payments, profile, relays,
    subscriptions, version, wallet_info, webhook_deliveries, webhook_delivery_retry, well_known, ws,
};
use crate::gate::{Access, Gate, gate};
use crate::idempotency::idempotency;
use crate::problem::{ErrorCode, Problem};

/// Endpoints that anybody may call.
pub(crate) fn public() -> OpenApiRouter<ApiState> {
    OpenApiRouter::default().routes(routes!(health::health)).routes(routes!(well_known::well_known))
}

/// Endpoints for whoever carries the token.
pub(crate) fn protected() -> OpenApiRouter<ApiState> {
    OpenApiRouter::default()
        .routes(routes!(version::version))
        .routes(routes!(health_ready::health_ready))
        .routes(routes!(metrics::metrics))
        .routes(routes!(key_handshake::key_handshake, key_handshake_list::key_handshake_list))
        .routes(routes!(key_handshake_close::key_handshake_close))
        .routes(routes!(authenticate_key::authenticate_key))
        .routes(routes!(payments::single::single_payment))
        .routes(routes!(payments::recurring::recurring_payment))
        .routes(routes!(payments::close::close_subscription))
        .routes(routes!(subscriptions::list::subscriptions))
        .routes(routes!(subscriptions::one::subscription))
        .routes(routes!(invoices::pay::pay_invoice))
        .routes(routes!(invoices::request::request_invoice))
        .routes(routes!(wallet_info::wallet_info))
        .routes(routes!(events::events))
        .routes(routes!(events::live::live))
        .routes(routes!(webhook_deliveries::webhook_deliveries))
        .routes(routes!(webhook_delivery_retry::webhook_delivery_retry))
        .routes(routes!(calendar_next_occurrence::calendar_next_occurrence))
        .routes(routes!(jwt_issue::jwt_issue))
        .routes(routes!(jwt_verify::jwt_verify))
        .routes(routes!(profile::of_user::profile_of_user))
        .routes(routes!(profile::publish::profile_publish))
        .routes(routes!(nip05::nip05))
        .routes(routes!(relays::list::relays_list, relays::add::relays_add, relays::remove::relays_remove))
}

/// The endpoint that becomes a WebSocket.
pub(crate) fn socket() -> OpenApiRouter<ApiState> {
    OpenApiRouter::default().routes(routes!(ws::ws))
}

/// Endpoints that describe the interface.
pub(crate) fn local() -> OpenApiRouter<ApiState> {
    OpenApiRouter::default()
        .routes(routes!(openapi_json::openapi_json))
        .routes(routes!(docs::docs))
        // What the page loads is no part of the interface.
        .route("/docs/viewer.js", get(docs::viewer))
        .route("/docs/swagger-ui.js", get(docs::script))
        .route("/docs/swagger-ui.css", get(docs::style))
        .route("/docs/favicon.png", get(docs::icon))
}

/// The whole interface.
pub(crate) fn router(state: ApiState) -> Router {
    assemble(public().into(), protected().into(), socket().into(), local().into(), state)
}

/// Puts the gate before the endpoints. What is not an endpoint is behind the token too: strangers learn nothing.
fn assemble(
    public: Router<ApiState>,
    protected: Router<ApiState>,
    socket: Router<ApiState>,
    local: Router<ApiState>,
    state: ApiState,
) -> Router {
    let once = from_fn_with_state(state.clone(), idempotency);
    let gated = |access| from_fn_with_state(Gate { state: state.clone(), access }, gate);
    let public = public.method_not_allowed_fallback(method_not_allowed).layer(gated(Access::Public));
    let protected = protected
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(route_not_found)
        .layer(once)
        .layer(gated(Access::Token));
    let socket = socket.method_not_allowed_fallback(method_not_allowed).layer(gated(Access::Socket));
    let local = local.method_not_allowed_fallback(method_not_allowed).layer(gated(Access::Docs));
    protected.merge(public).merge(socket).merge(local).with_state(state)
}

async fn route_not_found() -> Problem {
    Problem::new(ErrorCode::RouteNotFound, "there is no such path; `/docs` and docs/api.md list those there are")
}

async fn method_not_allowed() -> Problem {
    Problem::new(ErrorCode::MethodNotAllowed, "the `Allow` header lists the methods of this path")
}
