//! What the page of approvals has at hand.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use axum::response::Response;
use http::header::REFERRER_POLICY;
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use usher_engine::access::KeyRing;
use usher_engine::ports::{Clock, StoreError};
use usher_token_bucket::{Rate, TokenBucket};

use super::begun_logins::BegunLogins;
use super::options::ApprovalsOptions;
use super::sessions::{self, OpenSession, Sessions};
use crate::browser::{cookie, cookie_name, set_strict_cookie};
use crate::page::{self, Next};
use crate::state::PagesState;
use crate::visit::Visit;

/// The first part of the path.
const FOLDER: &str = "approve";

const COOKIE: &str = "usher_operator";

/// How many logins with a key that may not approve are recorded in the audit log: anybody can cause them.
const RECORDED_REFUSALS: Rate = Rate::every(10, Duration::from_secs(3600));

#[derive(Clone)]
pub(super) struct ApprovalsState {
    pub(super) pages: PagesState,
    pub(super) approvals: Arc<Approvals>,
}

pub(super) struct Approvals {
    pub(super) keys: Arc<KeyRing>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sessions: Sessions,
    pub(super) logins: BegunLogins,
    /// Locked while a browser returns from its login, whose outcome can be taken once.
    pub(super) returning: tokio::sync::Mutex<()>,
    pub(super) recorded_refusals: Mutex<TokenBucket<Duration>>,
}

impl std::ops::Deref for ApprovalsState {
    type Target = Approvals;

    fn deref(&self) -> &Approvals {
        &self.approvals
    }
}

impl ApprovalsState {
    pub(super) fn new(pages: PagesState, options: ApprovalsOptions) -> Self {
        let ApprovalsOptions { keys, clock, randomness } = options;
        let approvals = Arc::new(Approvals {
            keys,
            sessions: Sessions::new(Arc::clone(&clock), randomness),
            logins: BegunLogins::default(),
            returning: tokio::sync::Mutex::default(),
            recorded_refusals: Mutex::new(TokenBucket::new(RECORDED_REFUSALS, clock.monotonic())),
            clock,
        });
        Self { pages, approvals }
    }

    pub(super) fn path(&self) -> String {
        format!("{}/{FOLDER}", self.pages.site.base())
    }

    /// Where a login's page redirects at its end.
    pub(super) fn continue_url(&self) -> String {
        format!("{}/{FOLDER}/return", self.pages.url())
    }

    pub(super) fn session(&self, headers: &HeaderMap) -> Option<OpenSession> {
        self.sessions.find(&cookie(headers, &self.cookie_name())?)
    }

    pub(super) fn cookie_name(&self) -> String {
        cookie_name(self.pages.url(), COOKIE)
    }

    /// The `Set-Cookie` header that sets the session's cookie; without a secret, removes it.
    pub(super) fn session_cookie(&self, secret: Option<&str>) -> String {
        let max_age = secret.map_or(0, |_| sessions::LONGEST.as_secs());
        set_strict_cookie(self.pages.url(), &self.cookie_name(), secret.unwrap_or_default(), max_age)
    }

    /// The response to a form that may come from another site, or from this page at another address, where its cookies
    /// are missing.
    pub(super) fn foreign_form(&self, visit: &Visit) -> Response {
        let texts = &visit.texts.approvals;
        let address = format!("{}/{FOLDER}", self.pages.url());
        page::message(StatusCode::FORBIDDEN, visit, &texts.foreign_form, Next::To(texts.go_to_page, &address))
    }

    /// The page shown while the store fails.
    pub(super) fn unavailable(&self, visit: &Visit, error: &StoreError) -> Response {
        tracing::error!(%error, "the page of approvals could not be shown");
        let texts = visit.texts;
        page::message(StatusCode::SERVICE_UNAVAILABLE, visit, &texts.unavailable, Next::Back(&self.path()))
    }
}

/// With "no-referrer", the page's own forms would have the origin "null", as those of any site can.
pub(super) fn with_own_forms(mut response: Response) -> Response {
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

impl FromRef<ApprovalsState> for PagesState {
    fn from_ref(state: &ApprovalsState) -> Self {
        state.pages.clone()
    }
}
