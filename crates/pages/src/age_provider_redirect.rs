//! The redirect to the provider that verifies an age, and back.
//!
//! A check begins with a POST to the session's unguessable address, so no other site can start it. The browser gets a
//! cookie, without which no other browser can return from the provider in its place.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use usher_engine::{AgeCheckError, AgeCheckReturned, AgeCheckStarted, BeginCheckError, StreamId, VerificationView};
use usher_page_layout::{Frame, cookie, cookie_name, set_cookie};

use crate::age_verification;
use crate::browser::Seen;
use crate::keyed_page::{self, Address, Found, KeyedView as _, Page};
use crate::login::set_cookies;
use crate::page::{self, Next};
use crate::state::PagesState;
use crate::texts::{Message, Texts};
use crate::visit::Visit;

/// The page that links to the provider: `form-action` applies to a redirect after a form, not to a link.
#[derive(Template)]
#[template(path = "leaving.html")]
struct LeavingPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    leaving: &'a str,
    target: &'a str,
}

/// `POST /verify/{session_id}/{secret}/start`
pub(crate) async fn begin(State(pages): State<PagesState>, Path((id, secret)): Address, visit: Visit) -> Page {
    let Found { id: session, address, view } =
        keyed_page::find::<VerificationView>(&pages, &visit, &id, &secret).await?;
    let begun = pages.engine.verification().begin_check(session, &secret).await;
    let AgeCheckStarted { url, browser } = begun.map_err(|error| not_begun(&visit, session, &error, &address))?;
    let provider = pages.engine.verification().verifier_name().unwrap_or_default();
    let (frame, texts) = (&visit.frame, visit.texts);
    let leaving = texts.leaving(provider);
    let page = LeavingPage { frame, texts, leaving: &leaving, target: &url };
    let mut response = frame.render(StatusCode::OK, &page);
    let cookie = set_cookie(pages.url(), &check_cookie_name(&pages, session), &browser, view.time_left.as_secs());
    set_cookies(&mut response, vec![cookie]);
    Ok(response)
}

/// `GET /verify/return`
pub(crate) async fn end(
    State(pages): State<PagesState>,
    RawQuery(query): RawQuery,
    visit: Visit,
    _: Seen,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let state = page::field(&query, "state").unwrap_or_default();
    let session = state.split_once('.').and_then(|(session, _)| session.parse::<StreamId>().ok());
    let Some(session) = session else { return message(&visit, StatusCode::NOT_FOUND, &visit.texts.not_found, None) };
    let Some(browser) = cookie(&headers, &check_cookie_name(&pages, session)) else {
        return message(&visit, StatusCode::FORBIDDEN, &visit.texts.other_browser, None);
    };
    match pages.engine.verification().end_check(&state, &query, browser).await {
        Ok(AgeCheckReturned { session_id, page_secret, is_complete }) => {
            let address = pages.address(VerificationView::FOLDER, session_id, &page_secret);
            let target = if is_complete { address } else { format!("{address}?{}", age_verification::INCOMPLETE) };
            let mut response = page::see_other(&target);
            // A check is over once its browser has returned.
            let cookie = set_cookie(pages.url(), &check_cookie_name(&pages, session), "", 0);
            set_cookies(&mut response, vec![cookie]);
            response
        }
        Err(error) => failed(&visit, session, &error, None),
    }
}

fn not_begun(visit: &Visit, session: StreamId, error: &BeginCheckError, address: &str) -> Response {
    let texts = visit.texts;
    let back = Some(address);
    match error {
        BeginCheckError::Check(error) => failed(visit, session, error, back),
        BeginCheckError::NothingToCheck => message(visit, StatusCode::CONFLICT, &texts.nothing_to_check, back),
        BeginCheckError::TooOften => message(visit, StatusCode::TOO_MANY_REQUESTS, &texts.too_often, back),
        BeginCheckError::Verifier(error) => {
            tracing::warn!(%session, %error, "a check of the age verifier could not begin");
            message(visit, StatusCode::BAD_GATEWAY, &texts.provider_unavailable, back)
        }
    }
}

fn failed(visit: &Visit, session: StreamId, error: &AgeCheckError, back: Option<&str>) -> Response {
    let texts = visit.texts;
    match error {
        AgeCheckError::NotFound => message(visit, StatusCode::NOT_FOUND, &texts.not_found, None),
        AgeCheckError::Busy => message(visit, StatusCode::SERVICE_UNAVAILABLE, &texts.unavailable, back),
        AgeCheckError::Store(error) => {
            tracing::error!(%session, %error, "a check of the age verifier could not be stored");
            message(visit, StatusCode::SERVICE_UNAVAILABLE, &texts.unavailable, back)
        }
    }
}

fn message(visit: &Visit, status: StatusCode, message: &Message, back: Option<&str>) -> Response {
    page::message(status, visit, message, back.map_or(Next::Nothing, Next::Back))
}

/// One cookie per session: several can be open in one browser.
fn check_cookie_name(pages: &PagesState, session: StreamId) -> String {
    cookie_name(pages.url(), &format!("usher_check_{session}"))
}
