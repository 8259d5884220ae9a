//! What all pages share.

use askama::Template;
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use http::header::{REFERRER_POLICY, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use url::Url;
use usher_page_layout::{Frame, Site};

pub(crate) use usher_page_layout::HEADERS;

use crate::qr::Qr;
use crate::state::PagesState;
use crate::texts::{Message, Texts};
use crate::visit::Visit;

/// After how many seconds a page that could not be shown is reloaded.
const RETRY_SECONDS: u64 = 2;

/// The outcome that a page reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Not over yet.
    Waiting,
    /// Success.
    Passed,
    Failed,
}

/// A link and QR code with another scheme, for wallets that do not open the first.
pub(crate) struct OtherLink<'a> {
    pub(crate) url: &'a str,
    pub(crate) qr: Option<Qr>,
}

impl<'a> OtherLink<'a> {
    pub(crate) fn of_all(urls: &'a [String]) -> Vec<Self> {
        urls.iter().map(|url| Self { url, qr: Qr::of(url) }).collect()
    }
}

/// A QR code beside the actions, or collapsed where it is unlikely to be scanned.
pub(crate) struct CodePanel<'a> {
    pub(crate) qr: Qr,
    /// The description for screen readers.
    pub(crate) label: &'a str,
    /// The instruction.
    pub(crate) text: &'a str,
    pub(crate) is_open: bool,
}

/// A page with only a message.
#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    tone: Tone,
    heading: &'a str,
    message: &'a str,
    /// A link: its text and its address.
    link: Option<(&'a str, &'a str)>,
    /// After how many seconds the page follows it by itself.
    goes_after: Option<u64>,
}

/// The next step on a page with only a message.
#[derive(Clone, Copy)]
pub(crate) enum Next<'a> {
    Nothing,
    /// A link back to this address.
    Back(&'a str),
    /// A link to this address with this text.
    To(&'a str, &'a str),
    /// A link that begins another login.
    StartAgain(&'a str),
    /// Reload this address; the page does it by itself after this many seconds.
    Retry(&'a str, u64),
}

/// The response to a prefetch: nothing begins, and the browser repeats the request when its user opens the page.
pub(crate) fn not_shown() -> Response {
    (HEADERS, StatusCode::SERVICE_UNAVAILABLE).into_response()
}

/// `GET /`: who the service is, for those who type its address.
pub(crate) async fn home(State(pages): State<PagesState>, visit: Visit) -> Response {
    let (texts, app) = (visit.texts, pages.app.as_ref());
    let host = app.and_then(|app| app.host_str());
    let page = MessagePage {
        frame: &visit.frame,
        texts,
        tone: Tone::Waiting,
        heading: texts.home,
        message: &texts.home_about(visit.service()),
        link: host.zip(app.map(Url::as_str)),
        goes_after: None,
    };
    visit.frame.render_without_script(StatusCode::OK, &page)
}

/// `GET /pages/none`: the "not found" page.
pub(crate) async fn none(visit: Visit) -> Response {
    message(StatusCode::NOT_FOUND, &visit, &visit.texts.no_page, Next::Nothing)
}

/// The page that a browser gets while the service is unavailable; it reloads by itself.
pub fn not_available(site: &Site, request: &Parts) -> Response {
    let visit = Visit::new(site, request);
    let address = request.uri.path_and_query().map_or("", |address| address.as_str());
    // With two slashes it would name another host.
    let address = format!("/{}", address.trim_start_matches(['/', '\\']));
    message(
        StatusCode::SERVICE_UNAVAILABLE,
        &visit,
        &visit.texts.unavailable_briefly,
        Next::Retry(&address, RETRY_SECONDS),
    )
}

/// Redirects the browser to another page of ours, by GET.
pub(crate) fn see_other(address: &str) -> Response {
    (HEADERS, Redirect::to(address)).into_response()
}

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

/// With "no-referrer", the page's own forms would have the origin "null", as those of any site can.
pub(crate) fn with_own_forms(mut response: Response) -> Response {
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// An error message that the page's script shows.
pub(crate) fn for_script(status: StatusCode, message: &'static str) -> Response {
    let again = (status == StatusCode::TOO_MANY_REQUESTS).then_some([(RETRY_AFTER, "60")]);
    (status, HEADERS, AppendHeaders(again.into_iter().flatten()), message).into_response()
}

/// The first value of a field of a form or a query.
pub(crate) fn field(form: &str, name: &str) -> Option<String> {
    let mut fields = url::form_urlencoded::parse(form.as_bytes());
    fields.find(|(field, _)| field == name).map(|(_, value)| value.into_owned())
}

/// Longest description shown in full: about three lines on a phone.
const SUMMARY_CHARS: usize = 110;

/// The beginning of a long text; `None` if it is short.
pub(crate) fn summary(text: &str) -> Option<String> {
    let (end, _) = text.char_indices().nth(SUMMARY_CHARS)?;
    Some(format!("{}…", text.get(..end)?.trim_end_matches(|last: char| !last.is_alphanumeric())))
}
