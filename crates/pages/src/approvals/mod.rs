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
mod sessions;
mod shown;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use http::header::REFERRER_POLICY;
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use usher_engine::access::KeyRing;
use usher_engine::ports::{Clock, Randomness, StoreError};
use usher_page_layout::{PageRunner, run_to_end};
use usher_token_bucket::{Rate, TokenBucket};

use self::begun_logins::BegunLogins;
use self::sessions::{OpenSession, Sessions};
use crate::PagesState;
use crate::browser::{cookie, cookie_name, set_strict_cookie};
use crate::page::{self, Next};
use crate::visit::Visit;

/// The first part of the path.
const FOLDER: &str = "approve";

const COOKIE: &str = "usher_operator";

/// How many logins with a key that may not approve are recorded in the audit log: anybody can cause them.
const RECORDED_REFUSALS: Rate = Rate::every(10, Duration::from_secs(3600));

/// Dependencies of the approvals page.
#[derive(Clone)]
pub struct ApprovalsOptions {
    /// Knows the names of the API keys that request payments.
    pub keys: Arc<KeyRing>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Generates the secrets of sessions.
    pub randomness: Arc<dyn Randomness>,
}

#[derive(Clone)]
struct ApprovalsState {
    pages: PagesState,
    approvals: Arc<Approvals>,
}

struct Approvals {
    keys: Arc<KeyRing>,
    clock: Arc<dyn Clock>,
    sessions: Sessions,
    logins: BegunLogins,
    /// Locked while a browser returns from its login, whose outcome can be taken once.
    returning: tokio::sync::Mutex<()>,
    recorded_refusals: Mutex<TokenBucket<Duration>>,
}

impl std::ops::Deref for ApprovalsState {
    type Target = Approvals;

    fn deref(&self) -> &Approvals {
        &self.approvals
    }
}

impl FromRef<ApprovalsState> for PagesState {
    fn from_ref(state: &ApprovalsState) -> Self {
        state.pages.clone()
    }
}

/// The routes; none if there are no approvers.
pub(crate) fn router(pages: PagesState, options: ApprovalsOptions, runner: PageRunner) -> Router {
    if pages.engine.payments().approvers().is_empty() {
        return Router::new();
    }
    let ApprovalsOptions { keys, clock, randomness } = options;
    let approvals = Arc::new(Approvals {
        keys,
        sessions: Sessions::new(Arc::clone(&clock), randomness),
        logins: BegunLogins::default(),
        returning: tokio::sync::Mutex::default(),
        recorded_refusals: Mutex::new(TokenBucket::new(RECORDED_REFUSALS, clock.monotonic())),
        clock,
    });
    Router::new()
        .route("/approve", get(list::show))
        .route("/approve/login", post(login::begin))
        .route("/approve/return", get(login::end).route_layer(from_fn_with_state(runner, run_to_end)))
        .route("/approve/logout", post(login::log_out))
        .route("/approve/{stream_id}/{decision}", get(decide::ask).post(decide::decide))
        .with_state(ApprovalsState { pages, approvals })
}

impl ApprovalsState {
    fn path(&self) -> String {
        format!("{}/{FOLDER}", self.pages.site.base())
    }

    /// Where a login's page redirects at its end.
    fn continue_url(&self) -> String {
        format!("{}/{FOLDER}/return", self.pages.url())
    }

    fn session(&self, headers: &HeaderMap) -> Option<OpenSession> {
        self.sessions.find(&cookie(headers, &self.cookie_name())?)
    }

    fn cookie_name(&self) -> String {
        cookie_name(self.pages.url(), COOKIE)
    }

    /// The `Set-Cookie` header that sets the session's cookie; without a secret, removes it.
    fn session_cookie(&self, secret: Option<&str>) -> String {
        let max_age = secret.map_or(0, |_| sessions::LONGEST.as_secs());
        set_strict_cookie(self.pages.url(), &self.cookie_name(), secret.unwrap_or_default(), max_age)
    }

    /// The response to a form that may come from another site, or from this page at another address, where its cookies
    /// are missing.
    fn foreign_form(&self, visit: &Visit) -> Response {
        let texts = &visit.texts.approvals;
        let address = format!("{}/{FOLDER}", self.pages.url());
        page::message(StatusCode::FORBIDDEN, visit, &texts.foreign_form, Next::To(texts.go_to_page, &address))
    }

    /// The page shown while the store fails.
    fn unavailable(&self, visit: &Visit, error: &StoreError) -> Response {
        tracing::error!(%error, "the page of approvals could not be shown");
        let texts = visit.texts;
        page::message(StatusCode::SERVICE_UNAVAILABLE, visit, &texts.unavailable, Next::Back(&self.path()))
    }
}

/// With "no-referrer", the page's own forms would have the origin "null", as those of any site can.
fn with_own_forms(mut response: Response) -> Response {
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
