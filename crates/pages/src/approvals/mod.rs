//! The operators' page: payments that wait for an approval, for people whose keys the configuration names (`wallet.approvers`).
//!
//! | path | is |
//! | --- | --- |
//! | `/approve` | what waits; for a browser without a session, the way to the login |
//! | `/approve/login` | begins a login (POST) |
//! | `/approve/return` | where the login's page leads at its end: begins the session |
//! | `/approve/logout` | ends the session (POST) |
//! | `/approve/{stream_id}/{decision}` | asks for a confirmation, and decides (POST); `decision` is `approve` or `decline` |
//!
//! Operators log in as users do, at a login that the app learns nothing of, bound by its cookie to the browser that has begun
//! it ([`BrowserLogin`](usher_engine::BrowserLogin)). A session is a secret in a cookie; only its hash is kept, in memory
//! (`sessions`). What changes something is a form of a page of this service, as the browser has to say, with a token that only
//! the session's browser can know (`sessions::OpenSession::form_token`); that of a decision is of the payment as it was shown.

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

/// The name of the session's cookie.
const COOKIE: &str = "usher_operator";

/// How many logins with a key that may not approve are recorded in the audit log: anybody can make one.
const RECORDED_REFUSALS: Rate = Rate::every(10, Duration::from_secs(3600));

/// What the page of approvals needs.
#[derive(Clone)]
pub struct ApprovalsOptions {
    /// Knows the names of the API keys that ask for payments.
    pub keys: Arc<KeyRing>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Makes the secrets of sessions.
    pub randomness: Arc<dyn Randomness>,
}

/// What the page has at hand.
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
    /// Held while a browser comes back from its login, which counts once.
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

/// The routes; none if nobody may approve.
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
    /// The path of the page.
    fn path(&self) -> String {
        format!("{}/{FOLDER}", self.pages.site.base())
    }

    /// Where a login's page leads at its end.
    fn continue_url(&self) -> String {
        format!("{}/{FOLDER}/return", self.pages.url())
    }

    /// The session of the browser that sends these headers.
    fn session(&self, headers: &HeaderMap) -> Option<OpenSession> {
        self.sessions.find(&cookie(headers, &self.cookie_name())?)
    }

    fn cookie_name(&self) -> String {
        cookie_name(self.pages.url(), COOKIE)
    }

    /// The `Set-Cookie` header that gives a browser its session; without one it takes it away.
    fn session_cookie(&self, secret: Option<&str>) -> String {
        let max_age = secret.map_or(0, |_| sessions::LONGEST.as_secs());
        set_strict_cookie(self.pages.url(), &self.cookie_name(), secret.unwrap_or_default(), max_age)
    }

    /// The response to a form that may be of another site, or of this page at another address, where it has no cookies.
    fn foreign_form(&self, visit: &Visit) -> Response {
        let texts = &visit.texts.approvals;
        let address = format!("{}/{FOLDER}", self.pages.url());
        page::message(StatusCode::FORBIDDEN, visit, &texts.foreign_form, Next::To(texts.go_to_page, &address))
    }

    /// What the page says while the store does not work.
    fn unavailable(&self, visit: &Visit, error: &StoreError) -> Response {
        tracing::error!(%error, "the page of approvals could not be shown");
        let texts = visit.texts;
        page::message(StatusCode::SERVICE_UNAVAILABLE, visit, &texts.unavailable, Next::Back(&self.path()))
    }
}

/// With "no-referrer", the page's own forms would come from the origin "null", as those of any site can.
fn with_own_forms(mut response: Response) -> Response {
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
