//! The console: the page that loads its program (`console/` in the repository), and what the program cannot do itself: the
//! login, the login before a sensitive change, and invitations. Its program requests the API (`crates/api/src/console.rs`).
//!
//! Operators and approvers log in as users do, with a login that the app cannot see and that a cookie binds to the browser
//! ([`BrowserLogin`](usher_engine::BrowserLogin)). A session is a secret in a cookie; only its hash is kept, in memory
//! ([`OperatorSessions`](usher_engine::access::OperatorSessions)). Every form comes from a page of this service, verified by
//! Fetch Metadata.
//!
//! | path | is |
//! | --- | --- |
//! | `/console` and below | the page; without a session, the login, which returns to the address |
//! | `/console/login`, `/console/return` | begin and end a login |
//! | `/console/step-up?next=…` | logs in again, and returns to `next` |
//! | `/console/invite/{secret}` | logs in to accept an invitation |
//! | `/console/assets/{name}` | the program and its style |
//! | `/approve` and below | redirects to the console's approvals |

mod assets;
mod begun_logins;
mod login;
mod options;
mod purpose;
mod shell;
mod state;

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use ipnet::IpNet;
use usher_engine::PageRequestSource;
use usher_page_layout::{PageRunner, run_to_end};

use crate::page;
use crate::visit::Visit;

pub use self::options::OperatorOptions;
pub(crate) use self::state::OperatorsState;
pub use self::state::{session_cookie, session_secret};

#[derive(Clone)]
struct Admission {
    state: OperatorsState,
    networks: Arc<[IpNet]>,
}

/// The routes, for browsers in these networks; for all if there are none.
pub(crate) fn router(state: OperatorsState, networks: Vec<IpNet>, runner: PageRunner) -> Router {
    let admission = Admission { state: state.clone(), networks: networks.into() };
    let to_end = from_fn_with_state(runner, run_to_end);
    Router::new()
        .route("/console", get(shell::show))
        .route("/console/{*path}", get(shell::show))
        .route("/console/login", post(login::begin))
        .route("/console/return", get(login::end).route_layer(to_end))
        .route("/console/step-up", get(shell::step_up))
        .route("/console/invite/{secret}", get(shell::invite))
        .route("/console/assets/{name}", get(assets::show))
        .route("/approve", get(shell::approvals))
        .route("/approve/{*path}", get(shell::approvals))
        .with_state(state)
        .layer(from_fn_with_state(admission, admit))
}

/// Hides the console from other networks.
async fn admit(State(admission): State<Admission>, request: Request, next: Next) -> Response {
    let source = request.extensions().get::<PageRequestSource>();
    let address = source.and_then(|source| source.address.parse::<IpAddr>().ok());
    let networks = &admission.networks;
    let is_inside = |address: IpAddr| networks.iter().any(|network| network.contains(&address));
    if networks.is_empty() || address.is_some_and(is_inside) {
        return next.run(request).await;
    }
    let (head, _) = request.into_parts();
    page::none(Visit::new(&admission.state.pages.site, &head)).await
}
