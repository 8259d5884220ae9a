//! The console's own requests: an operator's session in a cookie takes the place of a token or key. What it may do is the
//! operator's role; everything else is as for a key.
//!
//! | attack | defence |
//! | --- | --- |
//! | another site makes the operator's browser send a request | the cookie is `SameSite=Strict`; a request must come from the console's own origin, and a change must have a header that forms cannot send |
//! | a token, key or cookie is used where it does not belong | here only the cookie is accepted, and nowhere else |
//! | a session goes on after its end, or after the operator was removed | each request finds both anew; event streams end with the session |

use axum::extract::{Path, Request, State};
use axum::routing::{delete, get};
use axum::{Extension, Json, Router};
use http::StatusCode;
use serde::Serialize;
use usher_engine::access::{OperatorClient, Role, Scope, SessionView};

use crate::ApiState;
use crate::auth::Authorization;
use crate::console_options::USHER_CONSOLE;
use crate::peer_address::ClientAddress;
use crate::problem::{ErrorCode, Problem};

/// Where the endpoints of the API are for the console.
pub(crate) const API: &str = "/console/api";

/// The operator of a request, by the cookie of the session.
///
/// # Errors
/// There is no session, or the request does not come from the console.
pub(crate) fn authorize(state: &ApiState, request: &Request) -> Result<Authorization, Problem> {
    let Some(options) = &state.console else { return Err(no_session()) };
    let client = request.extensions().get::<ClientAddress>().map(|ClientAddress(address)| *address);
    if !options.admits(client) {
        let detail = "the console cannot be used from this network (console.networks)";
        return Err(Problem::new(ErrorCode::NetworkNotAllowed, detail));
    }
    if !options.is_own(request) {
        let detail = format!("only the console's own page, at {}, can send this request", options.public_url);
        return Err(Problem::new(ErrorCode::RouteNotFound, detail));
    }
    let operators = state.keys.operators();
    let secret = (options.secret)(request.headers()).ok_or_else(no_session)?;
    // A refresh that nobody asked for does not extend a session.
    let is_caused = request.headers().contains_key(USHER_CONSOLE);
    let sessions = operators.sessions();
    let session = if is_caused { sessions.use_session(&secret) } else { sessions.find(&secret) };
    let session = session.ok_or_else(no_session)?;
    let user = operators.user(&session.operator).ok_or_else(no_session)?;
    Ok(Authorization::of_operator(OperatorClient { user, session }))
}

fn no_session() -> Problem {
    Problem::new(ErrorCode::Unauthorized, "there is no session of the console, or it has ended: log in at /console")
}

/// The routes of the session itself.
pub(crate) fn session_routes() -> Router<ApiState> {
    Router::new()
        .route("/console/session", get(show_session).delete(log_out))
        .route("/console/sessions/{id}", delete(end_session))
}

#[derive(Serialize)]
struct Session {
    name: String,
    key: String,
    /// `null`: they only approve payments.
    role: Option<&'static str>,
    scopes: Vec<Scope>,
    approver: bool,
    service: Option<String>,
    currency: Option<String>,
    test_mode: bool,
    version: String,
    /// Unix seconds, as all times.
    expires_at: u64,
    /// Until when changes of money, keys and operators need no further login.
    step_up_until: u64,
    sessions: Vec<OwnSession>,
}

#[derive(Serialize)]
struct OwnSession {
    id: String,
    began_at: u64,
    last_used_at: u64,
    current: bool,
}

/// `GET /console/session`
async fn show_session(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
) -> Result<Json<Session>, Problem> {
    let OperatorClient { user, session } = authorization.operator().ok_or_else(no_session)?;
    let own = |SessionView { id, began_at, used_at }: SessionView| OwnSession {
        current: id == session.id,
        id,
        began_at: began_at.secs(),
        last_used_at: used_at.secs(),
    };
    let options = state.console.as_ref();
    Ok(Json(Session {
        name: user.name.clone(),
        key: user.key.to_hex(),
        role: user.role.map(Role::as_str),
        scopes: authorization.terms().into_iter().flat_map(|terms| terms.scopes.iter().copied()).collect(),
        approver: user.is_approver,
        service: options.and_then(|options| options.service.clone()),
        currency: options.and_then(|options| options.currency.clone()),
        test_mode: state.is_development,
        version: state.version.clone(),
        expires_at: session.expires_at.secs(),
        step_up_until: session.fresh_until.secs(),
        sessions: state.keys.operators().sessions().of(&user.key).into_iter().map(own).collect(),
    }))
}

/// `DELETE /console/session`
async fn log_out(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
) -> Result<StatusCode, Problem> {
    let client = authorization.operator().ok_or_else(no_session)?;
    client.session.clone().end(state.keys.operators().sessions());
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /console/sessions/{id}`: ends another session of the operator. One that is over already is ended as well.
async fn end_session(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let client = authorization.operator().ok_or_else(no_session)?;
    state.keys.operators().sessions().end_named(&client.user.key, &id);
    Ok(StatusCode::NO_CONTENT)
}
