//! The page of an age verification session.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use usher_engine::operations::VerificationState;
use usher_engine::{StreamId, VerificationView};

use crate::PagesState;
use crate::language::Language;
use crate::page;
use crate::texts::{StatusTexts, Texts, fill};

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage<'a> {
    texts: &'a Texts,
    base: &'a str,
    /// The page's own path.
    address: &'a str,
    title: &'a str,
    asks: &'a str,
    /// What went wrong, if something did.
    notice: Option<&'a str>,
    status: &'a str,
    /// The text of the button that begins the check, if there is one.
    button: Option<&'a str>,
    what_the_button_does: &'a str,
    /// The colour of the status: `passed`, `failed` or none.
    tone: &'a str,
    checked: &'a str,
    checker: &'a str,
    time_left: Option<&'a str>,
    /// The state in one word.
    state: &'a str,
    /// Whether the state will change.
    live: bool,
    /// Whether the page reloads by itself without JavaScript: only where the user can do nothing but wait, because it
    /// interrupts screen readers.
    reloads: bool,
}

/// The query with which the user returns from a check that has no result.
pub(crate) const INCOMPLETE: &str = "incomplete";

/// What the address names.
pub(crate) type Address = Path<(String, String)>;

/// `GET /verify/{session_id}/{secret}`
pub(crate) async fn show(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    Language(texts): Language,
    RawQuery(query): RawQuery,
) -> Response {
    match find(&pages, texts, &id, &secret).await {
        Ok((session, view)) => {
            let is_incomplete = query.as_deref() == Some(INCOMPLETE);
            show_session(&pages, texts, &pages.address(session, &secret), &view, is_incomplete)
        }
        Err(response) => response,
    }
}

/// `GET /verify/{session_id}/{secret}/state`
pub(crate) async fn state(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    Language(texts): Language,
) -> Response {
    match find(&pages, texts, &id, &secret).await {
        Ok((_, view)) => (page::HEADERS, word(view.state)).into_response(),
        Err(response) => response,
    }
}

/// The session of this page; otherwise what the user is shown.
pub(crate) async fn find(
    pages: &PagesState,
    texts: &Texts,
    id: &str,
    secret: &str,
) -> Result<(StreamId, VerificationView), Response> {
    let not_found = || page::message(StatusCode::NOT_FOUND, texts, &pages.base, &texts.not_found, None);
    let Ok(session) = id.parse::<StreamId>() else { return Err(not_found()) };
    match pages.engine.verification_session(session, secret).await {
        Ok(Some(view)) => Ok((session, view)),
        Ok(None) => Err(not_found()),
        Err(error) => {
            tracing::error!(%session, %error, "the page of a verification session could not be shown");
            Err(page::message(StatusCode::SERVICE_UNAVAILABLE, texts, &pages.base, &texts.unavailable, None))
        }
    }
}

fn show_session(
    pages: &PagesState,
    texts: &Texts,
    address: &str,
    view: &VerificationView,
    is_incomplete: bool,
) -> Response {
    let age = view.minimum_age.to_string();
    let service = pages.service_name.as_deref().unwrap_or(texts.this_service);
    let open = matches!(view.state, VerificationState::Open | VerificationState::Checking);
    let provider = pages.engine.age_verifier_name();
    let button = match view.state {
        VerificationState::Open => Some(texts.start),
        VerificationState::Checking => Some(texts.start_again),
        _ => None,
    };
    let checker = match provider {
        Some(provider) => fill(texts.checker_provider, &[("provider", provider)]),
        None => texts.checker_staff.to_owned(),
    };
    let status = match (view.state, provider) {
        (VerificationState::Open, None) => texts.status.waiting,
        (state, _) => by_state(&texts.status, state),
    };
    let title = match (view.state, provider) {
        (VerificationState::Open, None) => texts.titles.waiting,
        (state, _) => by_state(&texts.titles, state),
    };
    let time_left = texts.time_left(view.time_left);
    page::render(
        StatusCode::OK,
        &SessionPage {
            texts,
            base: &pages.base,
            address,
            title,
            asks: &fill(texts.asks, &[("service", service), ("age", &age)]),
            notice: (is_incomplete && view.state == VerificationState::Open).then_some(texts.incomplete),
            status,
            button: button.filter(|_| provider.is_some()),
            what_the_button_does: &fill(texts.what_the_button_does, &[("provider", provider.unwrap_or_default())]),
            tone: match view.state {
                VerificationState::Open
                | VerificationState::Checking
                | VerificationState::Issuing
                | VerificationState::NotIssued => "",
                VerificationState::Passed => "passed",
                VerificationState::Rejected | VerificationState::Expired => "failed",
            },
            checked: &fill(texts.checked, &[("age", &age)]),
            checker: &checker,
            time_left: open.then_some(time_left.as_str()),
            state: word(view.state),
            reloads: button.is_none() || provider.is_none(),
            live: open || view.state == VerificationState::Issuing,
        },
    )
}

/// The state in one word.
const fn word(state: VerificationState) -> &'static str {
    match state {
        VerificationState::Open => "open",
        VerificationState::Checking => "checking",
        VerificationState::Issuing => "issuing",
        VerificationState::Passed => "passed",
        VerificationState::Rejected => "rejected",
        VerificationState::NotIssued => "not-issued",
        VerificationState::Expired => "expired",
    }
}

const fn by_state(texts: &StatusTexts, state: VerificationState) -> &'static str {
    match state {
        VerificationState::Open => texts.open,
        VerificationState::Checking => texts.checking,
        VerificationState::Issuing => texts.issuing,
        VerificationState::Passed => texts.passed,
        VerificationState::Rejected => texts.rejected,
        VerificationState::NotIssued => texts.not_issued,
        VerificationState::Expired => texts.expired,
    }
}
