//! Login and log-out of operators, with the login of the service.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use usher_engine::operations::LoginState;
use usher_engine::ports::StoreError;
use usher_engine::{BrowserLogin, BrowserLoginStarted, ClientNetwork, PageRequestSource, StartError};
use usher_page_layout::Frame;
use usher_protocol::PublicKey;
use usher_protocol::keys::npub;

use super::state::{ApprovalsState, with_own_forms};
use crate::browser::{FetchInitiator, cookie, fetch_initiator, is_certainly_own_form, login_cookies, shown_logins};
use crate::login::set_cookies;
use crate::login_page_request::other_type;
use crate::page::{self, Next};
use crate::texts::Texts;
use crate::visit::Visit;

/// How long the browser keeps a login's cookie; `login_cookies` adds an hour.
const LIFETIME: Duration = Duration::from_secs(3600);

/// How long after a login its outcome can begin a session, while the browser returns.
const RETURN_WITHIN: Duration = Duration::from_secs(5 * 60);

pub(super) const LOG_OUT: &str = "log out";

#[derive(Template)]
#[template(path = "approvals_enter.html")]
struct EnterPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    heading: &'a str,
    message: &'a str,
    /// The full key that has logged in but may not approve.
    refused: Option<&'a str>,
    /// The form's target.
    action: &'a str,
}

/// Why there is no session.
#[derive(Clone, Copy)]
pub(super) enum LoggedOut {
    /// Not logged in.
    NotYet,
    /// The session has expired.
    Over,
    ByThemselves,
    /// The key that logged in may not approve.
    OtherKey(PublicKey),
}

/// `POST /approve/login`: begins a login.
pub(super) async fn begin(
    State(state): State<ApprovalsState>,
    network: Option<Extension<ClientNetwork>>,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    if !is_certainly_own_form(state.pages.url(), &headers) {
        return state.foreign_form(&visit);
    }
    if state.session(&headers).is_some() {
        // The browser came from another site and has sent its cookie only now.
        return page::see_other(&state.path());
    }
    // Without a server in front (tests), every client counts as loopback.
    let network = network.map_or(ClientNetwork::Loopback, |Extension(network)| network);
    let client_name = visit.texts.approvals.client_name.to_owned();
    match state.begin_login(client_name, network).await {
        Ok(started) => {
            let mut response = page::see_other(&started.page_url);
            let cookies = login_cookies(state.pages.url(), started.stream_id, &started.browser, LIFETIME, &headers);
            set_cookies(&mut response, cookies);
            response
        }
        Err(StartError::TooManyOpen) => page::message(
            StatusCode::SERVICE_UNAVAILABLE,
            &visit,
            &visit.texts.approvals.busy,
            Next::Back(&state.path()),
        ),
        Err(StartError::Store(error)) => state.unavailable(&visit, &error),
        Err(_) => state.unavailable(&visit, &StoreError::Unexpected("a login does not start")),
    }
}

/// `GET /approve/return`: the login's page redirects here at its end.
pub(super) async fn end(
    State(state): State<ApprovalsState>,
    source: Option<Extension<PageRequestSource>>,
    method: Method,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    if fetch_initiator(&method, &headers) == FetchInitiator::Nobody {
        return page::not_shown();
    }
    let key = match state.take_login(&headers).await {
        Ok(Some(key)) => key,
        Ok(None) => return page::see_other(&state.path()),
        Err(error) => return state.unavailable(&visit, &error),
    };
    if !state.pages.engine.payments().approvers().contains(&key) {
        state.record_refusal(source.map(|Extension(source)| source).unwrap_or_default()).await;
        return enter(&state, &visit, LoggedOut::OtherKey(key)).await;
    }
    if let Some(former) = cookie(&headers, &state.cookie_name()) {
        state.sessions.end(&former);
    }
    let secret = state.sessions.begin(key);
    tracing::info!(operator = %operator_name(&key), "an operator has logged in to approve payments");
    let mut response = page::see_other(&state.path());
    set_cookies(&mut response, vec![state.session_cookie(Some(&secret))]);
    response
}

/// `POST /approve/logout`
pub(super) async fn log_out(
    State(state): State<ApprovalsState>,
    visit: Visit,
    headers: HeaderMap,
    form: String,
) -> Response {
    if let Some(refused) = other_type(&headers, "application/x-www-form-urlencoded") {
        return refused;
    }
    if !is_certainly_own_form(state.pages.url(), &headers) {
        return state.foreign_form(&visit);
    }
    if let Some(session) = state.session(&headers) {
        if !session.is_form_token(LOG_OUT, &field(&form, "token")) {
            return page::see_other(&state.path());
        }
        session.end(&state.sessions);
    }
    let mut response = enter(&state, &visit, LoggedOut::ByThemselves).await;
    set_cookies(&mut response, vec![state.session_cookie(None)]);
    response
}

/// The page without a session.
pub(super) async fn enter(state: &ApprovalsState, visit: &Visit, why: LoggedOut) -> Response {
    let texts = &visit.texts.approvals;
    let key = match why {
        LoggedOut::OtherKey(key) => Some(npub(&key)),
        LoggedOut::NotYet | LoggedOut::Over | LoggedOut::ByThemselves => None,
    };
    let (status, heading, message) = match why {
        LoggedOut::NotYet => (StatusCode::OK, texts.heading, texts.about(visit.service())),
        LoggedOut::Over => (StatusCode::FORBIDDEN, texts.session_over.heading, texts.session_over.message.to_owned()),
        LoggedOut::ByThemselves => (StatusCode::OK, texts.logged_out.heading, texts.logged_out.message.to_owned()),
        LoggedOut::OtherKey(_) => (StatusCode::FORBIDDEN, texts.other_key.heading, texts.other_key.message.to_owned()),
    };
    let _turn = state.pages.turn().await;
    with_own_forms(visit.frame.render_without_script(
        status,
        &EnterPage {
            frame: &visit.frame,
            texts: visit.texts,
            heading,
            message: &message,
            refused: key.as_deref(),
            action: &format!("{}/login", state.path()),
        },
    ))
}

pub(super) fn field(form: &str, name: &str) -> String {
    let mut fields = url::form_urlencoded::parse(form.as_bytes());
    fields.find(|(field, _)| field == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// The operator's name in the audit log.
pub(super) fn operator_name(key: &PublicKey) -> String {
    let hex = key.to_hex();
    format!("operator:{}", hex.get(..16).unwrap_or(&hex))
}

impl ApprovalsState {
    async fn begin_login(
        &self,
        client_name: String,
        network: ClientNetwork,
    ) -> Result<BrowserLoginStarted, StartError> {
        let engine = &self.pages.engine;
        let continue_url = self.continue_url();
        let login = BrowserLogin { client_name, continue_url, network, is_of_operator: true };
        let started = engine.logins().start_in_browser(login).await?;
        self.logins.add(engine, started.stream_id, network, self.clock.monotonic()).await?;
        Ok(started)
    }

    /// The key of a login that this browser has just completed, if any. It can be taken once.
    async fn take_login(&self, headers: &HeaderMap) -> Result<Option<PublicKey>, StoreError> {
        let (engine, continue_url) = (&self.pages.engine, self.continue_url());
        let _only = self.returning.lock().await;
        for (login, browser) in shown_logins(self.pages.url(), headers) {
            let state = engine.logins().state_leading_to(&continue_url, login, &browser).await?;
            let Some(state) = state.filter(|state| state.is_over()) else { continue };
            self.logins.forget(engine, login).await?;
            let LoginState::Approved { main_key, at, .. } = state else { continue };
            if self.clock.now() < at.plus(RETURN_WITHIN) {
                return Ok(Some(main_key));
            }
        }
        Ok(None)
    }

    /// Records in the audit log that a key may not approve. The entry omits the key: the log names no user.
    async fn record_refusal(&self, source: PageRequestSource) {
        if self.recorded_refusals.lock().try_take(self.clock.monotonic()).is_err() {
            return;
        }
        let audit = self.pages.engine.audit();
        let PageRequestSource { address, request_id } = source;
        let mut entry = audit.entry("-".to_owned(), address, "logInToApprove".to_owned(), request_id);
        entry.record.outcome = "not_an_approver".to_owned();
        if let Err(error) = audit.add(entry).await {
            tracing::error!(?error, "a refused login of an operator is missing in the audit log");
        }
    }
}
