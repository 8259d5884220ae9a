//! Login and log-out of operators, with the login of the service.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use usher_engine::access::{AcceptError, Invitation};
use usher_engine::operations::LoginState;
use usher_engine::ports::StoreError;
use usher_engine::{BrowserLogin, BrowserLoginStarted, ClientNetwork, PageRequestSource, StartError};
use usher_page_layout::Frame;
use usher_protocol::PublicKey;
use usher_protocol::keys::npub;

use super::area::Area;
use super::purpose::{Purpose, field};
use super::state::{OperatorsState, session_secret, with_own_forms};
use crate::browser::{FetchInitiator, fetch_initiator, is_certainly_own_form, login_cookies, shown_logins};
use crate::login::set_cookies;
use crate::login_page_request::other_type;
use crate::page::{self, Next};
use crate::texts::{Message, Texts};
use crate::visit::Visit;

/// How long the browser keeps a login's cookie; `login_cookies` adds an hour.
const LIFETIME: Duration = Duration::from_secs(3600);

/// How long after a login its outcome can begin a session, while the browser returns.
const RETURN_WITHIN: Duration = Duration::from_secs(5 * 60);

pub(crate) const LOG_OUT: &str = "log out";

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
    purpose: &'a Purpose,
    /// The path that follows.
    next: &'a str,
}

/// Why there is no session.
#[derive(Clone)]
pub(crate) enum LoggedOut {
    /// Not logged in.
    NotYet,
    /// The session has expired.
    Over,
    ByThemselves,
    /// The key that logged in may not enter.
    OtherKey(PublicKey),
    /// There is one, but not a fresh one.
    NotFresh,
    /// Whoever logs in accepts an invitation.
    Invited(Invitation),
}

/// `POST /approve/login`, `POST /console/login`: begins a login.
pub(crate) async fn begin(
    State(state): State<OperatorsState>,
    network: Option<Extension<ClientNetwork>>,
    visit: Visit,
    headers: HeaderMap,
    form: String,
) -> Response {
    if !is_certainly_own_form(state.pages.url(), &headers) {
        return state.foreign_form(&visit);
    }
    let purpose = Purpose::of_form(&form);
    if !purpose.is_again && purpose.invitation.is_empty() && state.session(&headers).is_some() {
        // The browser came from another site and has sent its cookie only now.
        return page::see_other(&purpose.path_in(&state.path()));
    }
    // Without a server in front (tests), every client counts as loopback.
    let network = network.map_or(ClientNetwork::Loopback, |Extension(network)| network);
    let client_name = match state.area {
        Area::Approvals => visit.texts.approvals.client_name,
        Area::Console => visit.texts.console.client_name,
    };
    match state.begin_login(client_name.to_owned(), network, purpose).await {
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

/// `GET /approve/return`, `GET /console/return`: the login's page redirects here at its end.
pub(crate) async fn end(
    State(state): State<OperatorsState>,
    source: Option<Extension<PageRequestSource>>,
    method: Method,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    if fetch_initiator(&method, &headers) == FetchInitiator::Nobody {
        return page::not_shown();
    }
    let (key, purpose) = match state.take_login(&headers).await {
        Ok(Some(login)) => login,
        Ok(None) => return page::see_other(&state.path()),
        Err(error) => return state.unavailable(&visit, &error),
    };
    let source = source.map(|Extension(source)| source).unwrap_or_default();
    if !purpose.invitation.is_empty() {
        match state.keys.operators().accept(&purpose.invitation, key).await {
            Ok(operator) => state.record(operator.actor(), source.clone(), "acceptInvitation", "ok").await,
            // Their own invitation, or another one: it remains.
            Err(AcceptError::IsOperator) => {}
            Err(AcceptError::NotFound) => return invitation_over(&state, &visit),
            Err(AcceptError::Store(error)) => return state.unavailable(&visit, &error),
        }
    }
    if !state.may_enter(&key) {
        state.record_refusal(source).await;
        return enter(&state, &visit, LoggedOut::OtherKey(key), &purpose).await;
    }
    if let Some(former) = session_secret(state.pages.url(), &headers) {
        state.sessions().end(&former);
    }
    let secret = state.sessions().begin(key);
    tracing::info!(operator = %state.actor(&key), area = state.area.folder(), "an operator has logged in");
    if state.area == Area::Console {
        state.record(state.actor(&key), source, state.area.log_in(), "ok").await;
    }
    let mut response = page::see_other(&purpose.path_in(&state.path()));
    set_cookies(&mut response, vec![state.session_cookie(Some(&secret))]);
    response
}

/// `POST /approve/logout`
pub(crate) async fn log_out(
    State(state): State<OperatorsState>,
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
        session.end(state.sessions());
    }
    let mut response = enter(&state, &visit, LoggedOut::ByThemselves, &Purpose::default()).await;
    set_cookies(&mut response, vec![state.session_cookie(None)]);
    response
}

/// The page without a session, or without a fresh one.
pub(crate) async fn enter(state: &OperatorsState, visit: &Visit, why: LoggedOut, purpose: &Purpose) -> Response {
    let (approvals, console) = (&visit.texts.approvals, &visit.texts.console);
    let key = match why {
        LoggedOut::OtherKey(key) => Some(npub(&key)),
        _ => None,
    };
    let of = |status, message: &Message| (status, message.heading, message.message.to_owned());
    let (status, heading, message) = match (why, state.area) {
        (LoggedOut::NotYet, Area::Approvals) => (StatusCode::OK, approvals.heading, approvals.about(visit.service())),
        (LoggedOut::NotYet, Area::Console) => (StatusCode::OK, console.heading, console.about(visit.service())),
        (LoggedOut::Over, _) => of(StatusCode::FORBIDDEN, &approvals.session_over),
        (LoggedOut::ByThemselves, _) => of(StatusCode::OK, &approvals.logged_out),
        (LoggedOut::OtherKey(_), Area::Approvals) => of(StatusCode::FORBIDDEN, &approvals.other_key),
        (LoggedOut::OtherKey(_), Area::Console) => of(StatusCode::FORBIDDEN, &console.other_key),
        (LoggedOut::NotFresh, _) => of(StatusCode::OK, &console.step_up),
        (LoggedOut::Invited(invitation), _) => {
            let message = console.invited(invitation.name, invitation.role.as_str(), visit.service());
            (StatusCode::OK, console.invited_heading, message)
        }
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
            purpose,
            next: &purpose.path_in(&state.path()),
        },
    ))
}

/// The page for an invitation that cannot be accepted.
pub(crate) fn invitation_over(state: &OperatorsState, visit: &Visit) -> Response {
    page::message(StatusCode::NOT_FOUND, visit, &visit.texts.console.invitation_over, Next::Back(&state.path()))
}

impl OperatorsState {
    async fn begin_login(
        &self,
        client_name: String,
        network: ClientNetwork,
        purpose: Purpose,
    ) -> Result<BrowserLoginStarted, StartError> {
        let engine = &self.pages.engine;
        let continue_url = self.continue_url();
        let login = BrowserLogin { client_name, continue_url, network, is_of_operator: true };
        let started = engine.logins().start_in_browser(login).await?;
        self.logins.add(engine, started.stream_id, network, purpose, self.clock.monotonic()).await?;
        Ok(started)
    }

    /// The key of a login that this browser has just completed, if any, and why it was begun. It can be taken once.
    async fn take_login(&self, headers: &HeaderMap) -> Result<Option<(PublicKey, Purpose)>, StoreError> {
        let (engine, continue_url) = (&self.pages.engine, self.continue_url());
        let _only = self.returning.lock().await;
        for (login, browser) in shown_logins(self.pages.url(), headers) {
            let state = engine.logins().state_leading_to(&continue_url, login, &browser).await?;
            let Some(state) = state.filter(|state| state.is_over()) else { continue };
            let purpose = self.logins.forget(engine, login).await?;
            let LoginState::Approved { main_key, at, .. } = state else { continue };
            if self.clock.now() < at.plus(RETURN_WITHIN) {
                return Ok(Some((main_key, purpose)));
            }
        }
        Ok(None)
    }

    /// Records in the audit log that a key may not enter. The entry omits the key: the log names no user.
    async fn record_refusal(&self, source: PageRequestSource) {
        if self.recorded_refusals.lock().try_take(self.clock.monotonic()).is_err() {
            return;
        }
        self.record("-".to_owned(), source, self.area.log_in(), self.area.refused()).await;
    }
}
