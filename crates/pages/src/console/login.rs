//! Login of operators and approvers, with the login of the service.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use usher_engine::access::{AcceptError, Invitation};
use usher_engine::operations::LoginState;
use usher_engine::ports::StoreError;
use usher_engine::{BrowserLogin, BrowserLoginStarted, ClientNetwork, PageRequestSource, StartError};
use usher_page_layout::Frame;
use usher_protocol::PublicKey;
use usher_protocol::keys::npub;

use super::purpose::Purpose;
use super::state::{OperatorsState, session_secret};
use crate::browser::{Seen, is_certainly_own_form, login_cookies, shown_logins};
use crate::login::set_cookies;
use crate::page::{self, Next};
use crate::texts::{Message, Texts};
use crate::visit::Visit;

/// How long the browser keeps a login's cookie; `login_cookies` adds an hour.
const LIFETIME: Duration = Duration::from_secs(3600);

/// The name of a login in the audit log.
const LOG_IN: &str = "logInToConsole";

/// How long after a login its outcome can begin a session, while the browser returns.
const RETURN_WITHIN: Duration = Duration::from_secs(5 * 60);

#[derive(Template)]
#[template(path = "console_enter.html")]
struct EnterPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    heading: &'a str,
    message: &'a str,
    /// The full key that has logged in but may not enter.
    refused: Option<&'a str>,
    /// The form's target.
    action: &'a str,
    purpose: &'a Purpose,
    /// The path that follows.
    next: &'a str,
}

/// Why there is no session.
#[derive(Clone)]
pub(super) enum LoggedOut {
    /// Not logged in.
    NotYet,
    /// The key that logged in may not enter.
    OtherKey(PublicKey),
    /// There is one, but not a fresh one.
    NotFresh,
    /// Whoever logs in accepts an invitation.
    Invited(Invitation),
}

/// `POST /console/login`: begins a login.
pub(super) async fn begin(
    State(state): State<OperatorsState>,
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
    let client_name = visit.texts.console.client_name.to_owned();
    match state.begin_login(client_name, visit.network, purpose).await {
        Ok(started) => {
            let mut response = page::see_other(&started.page_url);
            let cookies = login_cookies(state.pages.url(), started.stream_id, &started.browser, LIFETIME, &headers);
            set_cookies(&mut response, cookies);
            response
        }
        Err(StartError::TooManyOpen) => {
            let busy = &visit.texts.console.busy;
            page::message(StatusCode::SERVICE_UNAVAILABLE, &visit, busy, Next::Back(&state.path()))
        }
        Err(StartError::Store(error)) => state.unavailable(&visit, &error),
        Err(_) => state.unavailable(&visit, &StoreError::Unexpected("a login does not start")),
    }
}

/// `GET /console/return`: the login's page redirects here at its end.
pub(super) async fn end(
    State(state): State<OperatorsState>,
    source: Option<Extension<PageRequestSource>>,
    _: Seen,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
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
    let Some(user) = state.keys.operators().user(&key) else {
        state.record_refusal(source).await;
        return enter(&state, &visit, LoggedOut::OtherKey(key), &purpose).await;
    };
    if let Some(former) = session_secret(state.pages.url(), &headers) {
        state.sessions().end(&former);
    }
    let secret = state.sessions().begin(key);
    tracing::info!(operator = %user.actor(), "an operator has logged in");
    state.record(user.actor(), source, LOG_IN, "ok").await;
    let mut response = page::see_other(&purpose.path_in(&state.path()));
    set_cookies(&mut response, vec![state.session_cookie(Some(&secret))]);
    response
}

/// The page without a session, or without a fresh one.
pub(super) async fn enter(state: &OperatorsState, visit: &Visit, why: LoggedOut, purpose: &Purpose) -> Response {
    let console = &visit.texts.console;
    let key = match why {
        LoggedOut::OtherKey(key) => Some(npub(&key)),
        _ => None,
    };
    let of = |status, message: &Message| (status, message.heading, message.message.to_owned());
    let (status, heading, message) = match why {
        LoggedOut::NotYet => (StatusCode::OK, console.heading, console.about(visit.service())),
        LoggedOut::OtherKey(_) => of(StatusCode::FORBIDDEN, &console.other_key),
        LoggedOut::NotFresh => of(StatusCode::OK, &console.step_up),
        LoggedOut::Invited(invitation) => {
            let message = console.invited(invitation.name, invitation.role.as_str(), visit.service());
            (StatusCode::OK, console.invited_heading, message)
        }
    };
    let _turn = state.pages.turn().await;
    page::with_own_forms(visit.frame.render_without_script(
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
pub(super) fn invitation_over(state: &OperatorsState, visit: &Visit) -> Response {
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
        self.record("-".to_owned(), source, LOG_IN, "not_an_operator").await;
    }
}
