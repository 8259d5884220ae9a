//! What all pages have in common.

use askama::Template;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::StatusCode;
use http::header::RETRY_AFTER;
use http::request::Parts;
use usher_page_layout::{Frame, Site};

pub(crate) use usher_page_layout::HEADERS;

use crate::qr::Qr;
use crate::texts::{Message, Texts};
use crate::visit::Visit;

/// After how many seconds a page that could not be shown is loaded again.
const RETRY_SECONDS: u64 = 2;

/// What a page says about how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It has not.
    Waiting,
    /// Well.
    Passed,
    /// Otherwise.
    Failed,
}

/// A link and a code of what the page asks for, for wallets that open another scheme.
pub(crate) struct OtherLink<'a> {
    /// With `://`.
    pub(crate) scheme: &'a str,
    pub(crate) url: &'a str,
    pub(crate) qr: Option<Qr>,
}

impl<'a> OtherLink<'a> {
    /// Those of these URLs.
    pub(crate) fn of_all(urls: &'a [String]) -> Vec<Self> {
        let scheme = |url: &'a str| url.find("://").and_then(|end| url.get(..end + 3)).unwrap_or(url);
        urls.iter().map(|url| Self { scheme: scheme(url), url, qr: Qr::of(url) }).collect()
    }
}

/// A code beside the actions, or behind a line where it is not likely to be scanned.
pub(crate) struct CodePanel<'a> {
    pub(crate) qr: Qr,
    /// What it is, for who does not see it.
    pub(crate) label: &'a str,
    /// What to do with it.
    pub(crate) text: &'a str,
    pub(crate) is_open: bool,
}

/// A page that only says something.
#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    tone: Tone,
    heading: &'a str,
    message: &'a str,
    /// Where the page leads to: its text and its address.
    link: Option<(&'a str, &'a str)>,
    /// After how many seconds it goes there by itself.
    goes_after: Option<u64>,
}

/// What the user can do next on a page that only says something.
#[derive(Clone, Copy)]
pub(crate) enum Next<'a> {
    Nothing,
    /// Go back to this address.
    Back(&'a str),
    /// Go to this address, which this text names.
    To(&'a str, &'a str),
    /// Begin another login at this address.
    StartAgain(&'a str),
    /// Load this address again; the page does it by itself after so many seconds.
    Retry(&'a str, u64),
}

/// The response to who only looks at an address: nothing begins, and a browser that loads the page in advance loads it anew when
/// its user opens it.
pub(crate) fn not_shown() -> Response {
    (HEADERS, StatusCode::SERVICE_UNAVAILABLE).into_response()
}

/// `GET /pages/none`: says that there is no such page.
pub(crate) async fn none(visit: Visit) -> Response {
    message(StatusCode::NOT_FOUND, &visit, &visit.texts.no_page, Next::Nothing)
}

/// What a browser is shown in place of any page while the service cannot be reached: it loads the page again by itself.
pub fn not_available(site: &Site, request: &Parts) -> Response {
    let visit = Visit::new(site, request);
    let address = request.uri.path_and_query().map_or("/", |address| address.as_str());
    message(
        StatusCode::SERVICE_UNAVAILABLE,
        &visit,
        &visit.texts.unavailable_briefly,
        Next::Retry(address, RETRY_SECONDS),
    )
}

/// Leads the browser to another page of ours, by GET.
pub(crate) fn see_other(address: &str) -> Response {
    (HEADERS, Redirect::to(address)).into_response()
}

/// A page that only says something.
pub(crate) fn message(status: StatusCode, visit: &Visit, message: &Message, next: Next<'_>) -> Response {
    let Message { heading, message } = *message;
    let texts = visit.texts;
    let (link, goes_after) = match next {
        Next::Nothing => (None, None),
        Next::Back(address) => (Some((texts.back, address)), None),
        Next::To(text, address) => (Some((text, address)), None),
        Next::StartAgain(address) => (Some((texts.login.start_again, address)), None),
        Next::Retry(address, seconds) => (Some((texts.login.try_again, address)), Some(seconds)),
    };
    let tone = if goes_after.is_some() { Tone::Waiting } else { Tone::Failed };
    let page = MessagePage { frame: &visit.frame, texts, tone, heading, message, link, goes_after };
    let mut response = visit.frame.render(status, &page);
    if let Some(seconds) = goes_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}
