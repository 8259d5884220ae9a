//! The page that loads the program of the console, and the logins around it.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse as _, Response};
use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde::Deserialize;
use usher_engine::StreamId;

use super::assets::{SCRIPT, STYLE};
use super::login::{self, LoggedOut};
use super::purpose::Purpose;
use super::state::OperatorsState;
use crate::browser::Seen;
use crate::page;
use crate::visit::Visit;

/// The program loads nothing else, cannot be framed (clickjacking), and sets no HTML (Trusted Types).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

#[derive(Template)]
#[template(path = "console.html")]
struct Shell<'a> {
    title: &'a str,
    icon: &'a str,
    base: &'a str,
    style: &'a str,
    script: &'a str,
    needs_script: &'a str,
}

/// `GET /console` and below
pub(super) async fn show(
    State(state): State<OperatorsState>,
    uri: Uri,
    _: Seen,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    let base = state.pages.site.base();
    if state.session(&headers).is_none() {
        let path = uri.path_and_query().map_or("", |path| path.as_str());
        // A proxy may have removed the path of the public URL.
        let path = if path.starts_with(base) { path.to_owned() } else { format!("{base}{path}") };
        return login::enter(&state, &visit, LoggedOut::NotYet, &Purpose::next(path)).await;
    }
    let shell = Shell {
        title: visit.service(),
        icon: &visit.frame.icon(),
        base,
        style: &STYLE.name,
        script: &SCRIPT.name,
        needs_script: visit.texts.console.needs_script,
    };
    match shell.render() {
        Ok(html) => {
            let mut response = (page::HEADERS, Html(html)).into_response();
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
            response
        }
        Err(error) => {
            // Writing to a string cannot fail.
            tracing::error!(%error, "the console could not be rendered");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}

/// `GET /approve` and below: where approvals once had pages of their own, to which messages still lead.
pub(super) async fn approvals(State(state): State<OperatorsState>, uri: Uri) -> Response {
    let below = uri.path().split_once("/approve/").map_or("", |(_, below)| below);
    let payment = below.split('/').next().and_then(|id| id.parse::<StreamId>().ok());
    let payment = payment.map(|id| format!("/{id}")).unwrap_or_default();
    page::see_other(&format!("{}/approvals{payment}", state.path()))
}

#[derive(Deserialize)]
pub(super) struct StepUp {
    #[serde(default)]
    next: String,
}

/// `GET /console/step-up`
pub(super) async fn step_up(
    State(state): State<OperatorsState>,
    Query(StepUp { next }): Query<StepUp>,
    _: Seen,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    match state.session(&headers) {
        Some(_) => login::enter(&state, &visit, LoggedOut::NotFresh, &Purpose::again(next)).await,
        None => login::enter(&state, &visit, LoggedOut::NotYet, &Purpose::next(next)).await,
    }
}

/// `GET /console/invite/{secret}`
pub(super) async fn invite(
    State(state): State<OperatorsState>,
    Path(secret): Path<String>,
    _: Seen,
    visit: Visit,
) -> Response {
    match state.keys.operators().invitation(&secret) {
        Some(invitation) => {
            login::enter(&state, &visit, LoggedOut::Invited(invitation), &Purpose::accept(secret)).await
        }
        None => login::invitation_over(&state, &visit),
    }
}
