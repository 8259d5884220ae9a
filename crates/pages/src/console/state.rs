//! What the pages of operators have at hand.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use usher_engine::PageRequestSource;
use usher_engine::access::{KeyRing, LONGEST_SESSION, OpenSession, OperatorSessions};
use usher_engine::ports::{Clock, StoreError};
use usher_page_layout::{cookie, cookie_name};
use usher_token_bucket::{Rate, TokenBucket};

use super::begun_logins::BegunLogins;
use super::options::OperatorOptions;
use crate::browser::set_strict_cookie;
use crate::page::{self, Next};
use crate::state::PagesState;
use crate::visit::Visit;

const COOKIE: &str = "usher_operator";

/// How many logins with a key that may not enter are recorded in the audit log: anybody can cause them.
const RECORDED_REFUSALS: Rate = Rate::every(10, Duration::from_secs(3600));

#[derive(Clone)]
pub(crate) struct OperatorsState {
    pub(super) pages: PagesState,
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(super) keys: Arc<KeyRing>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) logins: BegunLogins,
    /// Locked while a browser returns from its login, whose outcome can be taken once.
    pub(super) returning: tokio::sync::Mutex<()>,
    pub(super) recorded_refusals: Mutex<TokenBucket<Duration>>,
}

impl std::ops::Deref for OperatorsState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl OperatorsState {
    pub(crate) fn new(pages: PagesState, options: OperatorOptions) -> Self {
        let OperatorOptions { keys, clock, .. } = options;
        let shared = Arc::new(Shared {
            keys,
            logins: BegunLogins::default(),
            returning: tokio::sync::Mutex::default(),
            recorded_refusals: Mutex::new(TokenBucket::new(RECORDED_REFUSALS, clock.monotonic())),
            clock,
        });
        Self { pages, shared }
    }

    /// The console's own path.
    pub(super) fn path(&self) -> String {
        format!("{}/console", self.pages.site.base())
    }

    pub(super) fn sessions(&self) -> &OperatorSessions {
        self.keys.operators().sessions()
    }

    /// Where a login's page redirects at its end.
    pub(super) fn continue_url(&self) -> String {
        format!("{}/console/return", self.pages.url())
    }

    /// The session of a browser whose holder may use the console.
    pub(super) fn session(&self, headers: &HeaderMap) -> Option<OpenSession> {
        let session = self.sessions().use_session(&session_secret(self.pages.url(), headers)?)?;
        self.keys.operators().user(&session.operator).map(|_| session)
    }

    /// The `Set-Cookie` header that sets the session's cookie; without a secret, removes it.
    pub(super) fn session_cookie(&self, secret: Option<&str>) -> String {
        session_cookie(self.pages.url(), secret)
    }

    /// Records in the audit log what somebody did, or was refused.
    pub(super) async fn record(&self, actor: String, source: PageRequestSource, action: &str, outcome: &str) {
        let audit = self.pages.engine.audit();
        let mut entry = audit.entry(actor, source.address, action.to_owned(), source.request_id);
        outcome.clone_into(&mut entry.record.outcome);
        if let Err(error) = audit.add(entry).await {
            tracing::error!(?error, "a login of an operator is missing in the audit log");
        }
    }

    /// The response to a form that may come from another site, or from this page at another address, where its cookies
    /// are missing.
    pub(super) fn foreign_form(&self, visit: &Visit) -> Response {
        let texts = &visit.texts.console;
        let address = format!("{}/console", self.pages.url());
        page::message(StatusCode::FORBIDDEN, visit, &texts.foreign_form, Next::To(texts.go_to_page, &address))
    }

    /// The page shown while the store fails.
    pub(super) fn unavailable(&self, visit: &Visit, error: &StoreError) -> Response {
        tracing::error!(%error, "a page of operators could not be shown");
        let texts = visit.texts;
        page::message(StatusCode::SERVICE_UNAVAILABLE, visit, &texts.unavailable, Next::Back(&self.path()))
    }
}

/// The secret of an operator's session, in the cookies of a browser.
///
/// `public_url` is `pages.public_url`.
pub fn session_secret(public_url: &str, headers: &HeaderMap) -> Option<String> {
    cookie(headers, &cookie_name(public_url, COOKIE)).map(str::to_owned)
}

/// The `Set-Cookie` header that sets the cookie of an operator's session; without a secret, removes it.
///
/// `public_url` is `pages.public_url`.
pub fn session_cookie(public_url: &str, secret: Option<&str>) -> String {
    let max_age = secret.map_or(0, |_| LONGEST_SESSION.as_secs());
    set_strict_cookie(public_url, &cookie_name(public_url, COOKIE), secret.unwrap_or_default(), max_age)
}

impl FromRef<OperatorsState> for PagesState {
    fn from_ref(state: &OperatorsState) -> Self {
        state.pages.clone()
    }
}
