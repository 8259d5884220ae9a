//! The operators' page: payments waiting for approval, for the keys in the configuration (`wallet.approvers`).
//!
//! | path | is |
//! | --- | --- |
//! | `/approve` | waiting payments; without a session, the login |
//! | `/approve/login` | begins a login (POST) |
//! | `/approve/return` | where the login's page redirects at its end: begins the session |
//! | `/approve/logout` | ends the session (POST) |
//! | `/approve/{stream_id}/{decision}` | asks for confirmation, and decides (POST); `decision` is `approve` or `decline` |
//!
//! Every change is a form post from a page of this service, verified by Fetch Metadata and by a token that only the session's
//! browser can know ([`OpenSession::form_token`](usher_engine::access::OpenSession::form_token)). The token of a decision covers
//! the payment as shown. A decision needs a login that is at most five minutes old.

mod decide;
mod list;
mod shown;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use usher_page_layout::{PageRunner, run_to_end};

use crate::operators::login;
use crate::operators::state::OperatorsState;

/// The routes; none if there are no approvers.
pub(crate) fn router(state: OperatorsState, runner: PageRunner) -> Router {
    if state.pages.engine.payments().approvers().is_empty() {
        return Router::new();
    }
    Router::new()
        .route("/approve", get(list::show))
        .route("/approve/login", post(login::begin))
        .route("/approve/return", get(login::end).route_layer(from_fn_with_state(runner, run_to_end)))
        .route("/approve/logout", post(login::log_out))
        .route("/approve/{stream_id}/{decision}", get(decide::ask).post(decide::decide))
        .with_state(state)
}
