//! The page of an age verification session.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use usher_engine::operations::VerificationState;
use usher_engine::{StreamId, VerificationView};

use crate::PagesState;
use crate::page;
use crate::texts::{ENGLISH, StatusTexts, Texts, fill};

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage<'a> {
    texts: &'a Texts,
    base: &'a str,
    /// The page's own path.
    address: &'a str,
    title: &'a str,
    asks: &'a str,
    status: &'a str,
    /// The colour of the status: `passed`, `failed` or none.
    tone: &'a str,
    checked: &'a str,
    checker: &'a str,
    time_left: Option<&'a str>,
    /// The state in one word.
    state: &'a str,
    /// Whether the state will change.
    live: bool,
}

/// What the address names.
pub(crate) type Address = Path<(String, String)>;

/// `GET /verify/{session_id}/{secret}`
pub(crate) async fn show(State(pages): State<PagesState>, Path((id, secret)): Address) -> Response {
    match find(&pages, &id, &secret).await {
        Ok((session, view)) => show_session(&pages, &format!("{}/verify/{session}/{secret}", pages.base), &view),
        Err(response) => response,
    }
}

/// `GET /verify/{session_id}/{secret}/state`
pub(crate) async fn state(State(pages): State<PagesState>, Path((id, secret)): Address) -> Response {
    match find(&pages, &id, &secret).await {
        Ok((_, view)) => word(view.state).into_response(),
        Err(response) => response,
    }
}

/// The session of this page; otherwise what the user is shown.
async fn find(pages: &PagesState, id: &str, secret: &str) -> Result<(StreamId, VerificationView), Response> {
    let not_found = || page::message(StatusCode::NOT_FOUND, &ENGLISH, &pages.base, &ENGLISH.not_found);
    let Ok(session) = id.parse::<StreamId>() else { return Err(not_found()) };
    match pages.engine.verification_session(session, secret).await {
        Ok(Some(view)) => Ok((session, view)),
        Ok(None) => Err(not_found()),
        Err(error) => {
            tracing::error!(%session, %error, "the page of a verification session could not be shown");
            Err(page::message(StatusCode::SERVICE_UNAVAILABLE, &ENGLISH, &pages.base, &ENGLISH.unavailable))
        }
    }
}

fn show_session(pages: &PagesState, address: &str, view: &VerificationView) -> Response {
    let texts = &ENGLISH;
    let age = view.minimum_age.to_string();
    let service = pages.service_name.as_deref().unwrap_or(texts.this_service);
    let open = view.state == VerificationState::Open;
    let minutes = view.time_left.as_secs() / 60;
    let time_left = match minutes {
        0 => texts.one_minute_left.to_owned(),
        minutes => fill(texts.time_left, &[("minutes", &minutes.to_string())]),
    };
    page::render(
        StatusCode::OK,
        &SessionPage {
            texts,
            base: &pages.base,
            address,
            title: by_state(&texts.titles, view.state),
            asks: &fill(texts.asks, &[("service", service), ("age", &age)]),
            status: by_state(&texts.status, view.state),
            tone: match view.state {
                VerificationState::Open | VerificationState::Issuing | VerificationState::NotIssued => "",
                VerificationState::Passed => "passed",
                VerificationState::Rejected | VerificationState::Expired => "failed",
            },
            checked: &fill(texts.checked, &[("age", &age)]),
            checker: texts.checker_staff,
            time_left: open.then_some(time_left.as_str()),
            state: word(view.state),
            live: matches!(view.state, VerificationState::Open | VerificationState::Issuing),
        },
    )
}

/// The state in one word.
const fn word(state: VerificationState) -> &'static str {
    match state {
        VerificationState::Open => "open",
        VerificationState::Issuing => "issuing",
        VerificationState::Passed => "passed",
        VerificationState::Rejected => "rejected",
        VerificationState::NotIssued => "not-issued",
        VerificationState::Expired => "expired",
    }
}

const fn by_state(texts: &StatusTexts, state: VerificationState) -> &'static str {
    match state {
        VerificationState::Open => texts.waiting,
        VerificationState::Issuing => texts.issuing,
        VerificationState::Passed => texts.passed,
        VerificationState::Rejected => texts.rejected,
        VerificationState::NotIssued => texts.not_issued,
        VerificationState::Expired => texts.expired,
    }
}
