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
//! Operators log in as users do, with a login that the app cannot see and that a cookie binds to the browser
//! ([`BrowserLogin`](usher_engine::BrowserLogin)). A session is a secret in a cookie; only its hash is kept, in memory
//! (`sessions`). Every change is a form post from a page of this service, verified by Fetch Metadata and by a token
//! that only the session's browser can know (`sessions::OpenSession::form_token`). The token of a decision covers the
//! payment as shown.

mod begun_logins;
mod decide;
mod list;
mod login;
mod options;
mod sessions;
mod shown;
mod state;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use usher_page_layout::{PageRunner, run_to_end};

pub use self::options::ApprovalsOptions;
use self::state::ApprovalsState;
use crate::state::PagesState;

/// The routes; none if there are no approvers.
pub(crate) fn router(pages: PagesState, options: ApprovalsOptions, runner: PageRunner) -> Router {
    if pages.engine.payments().approvers().is_empty() {
        return Router::new();
    }
    Router::new()
        .route("/approve", get(list::show))
        .route("/approve/login", post(login::begin))
        .route("/approve/return", get(login::end).route_layer(from_fn_with_state(runner, run_to_end)))
        .route("/approve/logout", post(login::log_out))
        .route("/approve/{stream_id}/{decision}", get(decide::ask).post(decide::decide))
        .with_state(ApprovalsState::new(pages, options))
}
