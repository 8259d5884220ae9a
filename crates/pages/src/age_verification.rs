//! The page of an age verification session.

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use usher_engine::operations::VerificationState;
use usher_engine::ports::StoreError;
use usher_engine::{Engine, StreamId, VerificationView};
use usher_page_layout::Frame;

use crate::keyed_page::{self, Address, KeyedView, Page};
use crate::page::Tone;
use crate::state::PagesState;
use crate::texts::{Message, StatusTexts, Texts};
use crate::visit::Visit;
use crate::waiting_page::Shown;

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The page's own path.
    address: &'a str,
    title: &'a str,
    asks: &'a str,
    /// An error message, if any.
    notice: Option<&'a str>,
    status: &'a str,
    /// The text of the button that begins the check, if shown.
    button: Option<&'a str>,
    what_the_button_does: &'a str,
    /// The number that the user tells the staff.
    number: Option<u32>,
    tone: Tone,
    /// The outcome.
    outcome: &'a str,
    /// Whether no decision was made yet.
    is_open: bool,
    checked: &'a str,
    checker: &'a str,
    /// In seconds, and as a text.
    time_left: Option<(u64, &'a str)>,
    /// The state in one word.
    state: &'a str,
    /// Whether the state will change.
    live: bool,
    /// Whether the page reloads by itself without JavaScript: only where the user can do nothing but wait, because it
    /// interrupts screen readers.
    reloads: bool,
    /// Where the page links at the end.
    return_url: Option<&'a str>,
    /// Where the browser is redirected now.
    return_now: Option<&'a str>,
}

/// The query with which the user returns from a check without a result.
pub(crate) const INCOMPLETE: &str = "incomplete";

/// How often the page polls for a check begun elsewhere or a decision by staff: an event is sent only at the end.
const CHECK_EVERY: Duration = Duration::from_secs(10);

impl KeyedView for VerificationView {
    const FOLDER: &'static str = "verify";

    async fn find(engine: &Engine, id: StreamId, secret: &str) -> Result<Option<Self>, StoreError> {
        engine.verification().session(id, secret).await
    }

    fn shown(&self) -> Shown {
        let is_final = !is_live(self.state);
        Shown { word: self.state.as_str().to_owned(), is_final, check_after: (!is_final).then_some(CHECK_EVERY) }
    }

    fn not_found(texts: &Texts) -> &Message {
        &texts.not_found
    }
}

/// `GET /verify/{session_id}/{secret}`
pub(crate) async fn show(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    visit: Visit,
    RawQuery(query): RawQuery,
) -> Page {
    let found = keyed_page::find::<VerificationView>(&pages, &visit, &id, &secret).await?;
    let _turn = pages.turn().await;
    let is_incomplete = query.as_deref() == Some(INCOMPLETE);
    Ok(show_session(&pages, &visit, &found.address, &found.view, is_incomplete))
}

fn show_session(
    pages: &PagesState,
    visit: &Visit,
    address: &str,
    view: &VerificationView,
    is_incomplete: bool,
) -> Response {
    let texts = visit.texts;
    let return_url = view.return_url.as_deref().filter(|_| !is_live(view.state));
    let open = matches!(view.state, VerificationState::Open | VerificationState::Checking);
    let provider = pages.engine.verification().verifier_name();
    let button = match view.state {
        VerificationState::Open => Some(texts.start),
        VerificationState::Checking => Some(texts.start_again),
        _ => None,
    };
    let checker = match provider {
        Some(provider) => texts.checker_provider(provider),
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
    let reloads = button.is_none() || provider.is_none();
    let time_left = if reloads { texts.time_left(view.time_left) } else { texts.time_left_when_loaded(view.time_left) };
    visit.frame.render(
        StatusCode::OK,
        &SessionPage {
            frame: &visit.frame,
            texts,
            address,
            title,
            asks: &texts.asks(view.minimum_age, visit.service()),
            notice: (is_incomplete && view.state == VerificationState::Open).then_some(texts.incomplete),
            status,
            button: button.filter(|_| provider.is_some()),
            what_the_button_does: &texts.what_the_button_does(provider.unwrap_or_default()),
            number: view.number.filter(|_| open && provider.is_none()),
            tone: match view.state {
                VerificationState::Open | VerificationState::Checking | VerificationState::Issuing => Tone::Waiting,
                VerificationState::Passed => Tone::Passed,
                VerificationState::Rejected | VerificationState::NotIssued | VerificationState::Expired => Tone::Failed,
            },
            checked: &texts.checked(view.minimum_age),
            checker: &checker,
            time_left: open.then_some((view.time_left.as_secs(), time_left.as_str())),
            state: view.state.as_str(),
            reloads,
            live: is_live(view.state),
            outcome: by_state(&texts.outcomes, view.state),
            is_open: open,
            return_url,
            // Only after success: otherwise the user reads here why.
            return_now: return_url.filter(|_| view.state == VerificationState::Passed),
        },
    )
}

const fn is_live(state: VerificationState) -> bool {
    matches!(state, VerificationState::Open | VerificationState::Checking | VerificationState::Issuing)
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
