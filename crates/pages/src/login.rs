//! The page of a login.
//!
//! It belongs to the browser that opens it first: whoever sends their own login page to somebody else cannot be logged in as
//! that person. Requests that change something are POSTs to the page's own unguessable address, with the browser's cookie.

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_TYPE, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use usher_engine::operations::LoginState;
use usher_engine::{LoginPageError, LoginView, OpenedLogin, StreamId};

use crate::PagesState;
use crate::browser::{cookie, is_prefetch, login_cookie, login_cookie_name};
use crate::keyed_page::Address;
use crate::language::Language;
use crate::page;
use crate::qr::Qr;
use crate::signer::{self, SignerPart};
use crate::texts::{LoginStatusTexts, Message, Texts, fill};
use crate::waiting::{self, Shown};

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    texts: &'a Texts,
    base: &'a str,
    /// The page's own path.
    address: &'a str,
    title: &'a str,
    asks: &'a str,
    status: &'a str,
    /// The colour of the status: `passed`, `failed` or none.
    tone: &'a str,
    /// The state in one word.
    state: &'a str,
    /// Whether the user can still log in.
    open: bool,
    wallet_url: &'a str,
    qr: Option<Qr>,
    /// The event for the extension to sign: JSON text.
    unsigned_proof: &'a str,
    /// Whether a wallet may still scan.
    can_scan: bool,
    /// Whether the user may name a remote signer.
    offers_signers: bool,
    /// The remote signer that was named last.
    signer: Option<SignerPart<'a>>,
    learns_heading: &'a str,
    time_left: &'a str,
    /// Where the page leads to at the end.
    return_url: Option<&'a str>,
}

/// How often the page looks how far a remote signer is: no event says so.
const SIGNER_EVERY: Duration = Duration::from_secs(1);

/// The first part of the path of the page.
pub(crate) const FOLDER: &str = "login";

/// `GET /login/{stream_id}/{secret}`
pub(crate) async fn show(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    method: Method,
    Language(texts): Language,
    headers: HeaderMap,
) -> Response {
    let Ok(login) = id.parse::<StreamId>() else { return not_found(&pages, texts) };
    if method == Method::HEAD || is_prefetch(&headers) {
        // The page is for the browser whose user opens it, not for who looks at its address first.
        return (page::HEADERS, StatusCode::SERVICE_UNAVAILABLE).into_response();
    }
    let browser = cookie(&headers, &login_cookie_name(login));
    match pages.engine.open_login(login, &secret, browser.as_deref()).await {
        Ok(OpenedLogin::Page { view, new_browser }) => {
            let _turn = pages.turn().await;
            let mut response = show_login(&pages, texts, &pages.address(FOLDER, login, &secret), &view);
            let new_cookie = new_browser.map(|browser| login_cookie(&pages.url, login, &browser, view.time_left));
            if let Some(Ok(cookie)) = new_cookie.map(HeaderValue::try_from) {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            response
        }
        Ok(OpenedLogin::Elsewhere) => message(&pages, texts, StatusCode::FORBIDDEN, &texts.login.opened_elsewhere),
        Ok(OpenedLogin::NotFound) => not_found(&pages, texts),
        Err(error) => {
            tracing::error!(%login, %error, "the page of a login could not be shown");
            message(&pages, texts, StatusCode::SERVICE_UNAVAILABLE, &texts.unavailable)
        }
    }
}

/// `GET /login/{stream_id}/{secret}/events`
pub(crate) async fn events(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    Language(texts): Language,
    headers: HeaderMap,
) -> Response {
    let Ok(login) = id.parse::<StreamId>() else { return not_found(&pages, texts) };
    let browser = cookie(&headers, &login_cookie_name(login));
    let (engine, of_page) = (pages.engine.clone(), secret);
    let read = move || -> futures_util::future::BoxFuture<'static, Option<Shown>> {
        let (engine, browser, secret) = (engine.clone(), browser.clone(), of_page.clone());
        Box::pin(async move {
            // Without a cookie it would be the first browser.
            match engine.open_login(login, &secret, Some(&browser?)).await {
                Ok(OpenedLogin::Page { view, new_browser: None }) => {
                    let check_after = view.signer.as_ref().map(|_| SIGNER_EVERY);
                    Some(Shown { word: word(&view), is_final: view.state.is_over(), check_after })
                }
                _ => None,
            }
        })
    };
    waiting::respond(&pages, login, Box::new(read)).await
}

/// `POST /login/{stream_id}/{secret}/extension`: the body is the signed event.
pub(crate) async fn prove(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    Language(texts): Language,
    headers: HeaderMap,
    event: String,
) -> Response {
    let Ok(login) = id.parse::<StreamId>() else { return not_found(&pages, texts) };
    let is_json = headers.get(CONTENT_TYPE).is_some_and(|given| given.as_bytes().starts_with(b"application/json"));
    if !is_json {
        return (page::HEADERS, StatusCode::UNSUPPORTED_MEDIA_TYPE).into_response();
    }
    let browser = cookie(&headers, &login_cookie_name(login));
    match pages.engine.prove_login(login, &secret, browser.as_deref(), &event).await {
        Ok(()) => (page::HEADERS, StatusCode::NO_CONTENT).into_response(),
        Err(error) => {
            let (status, said) = refusal(texts, login, &error);
            // The page's script shows it.
            (status, page::HEADERS, said.message).into_response()
        }
    }
}

/// `POST /login/{stream_id}/{secret}/decline`
pub(crate) async fn decline(
    State(pages): State<PagesState>,
    Path((id, secret)): Address,
    Language(texts): Language,
    headers: HeaderMap,
) -> Response {
    let Ok(login) = id.parse::<StreamId>() else { return not_found(&pages, texts) };
    let browser = cookie(&headers, &login_cookie_name(login));
    match pages.engine.decline_login(login, &secret, browser.as_deref()).await {
        // The page shows the outcome, whichever it is.
        Ok(()) | Err(LoginPageError::Over) => page::see_other(&pages.address(FOLDER, login, &secret)),
        Err(error) => {
            let (status, said) = refusal(texts, login, &error);
            message(&pages, texts, status, said)
        }
    }
}

pub(crate) fn refusal(
    texts: &'static Texts,
    login: StreamId,
    error: &LoginPageError,
) -> (StatusCode, &'static Message) {
    match error {
        LoginPageError::NotFound => (StatusCode::NOT_FOUND, &texts.login.not_found),
        LoginPageError::Elsewhere => (StatusCode::FORBIDDEN, &texts.login.opened_elsewhere),
        LoginPageError::Over => (StatusCode::CONFLICT, &texts.login.over),
        LoginPageError::TooManySigners => (StatusCode::TOO_MANY_REQUESTS, &texts.login.signer_too_often),
        LoginPageError::Signer(_) => (StatusCode::UNPROCESSABLE_ENTITY, &texts.login.signer_invalid),
        LoginPageError::NoSigner(_) => (StatusCode::SERVICE_UNAVAILABLE, &texts.login.signer_unreachable),
        LoginPageError::Proof(error) => {
            tracing::info!(%login, %error, "a browser extension's event was refused");
            (StatusCode::UNPROCESSABLE_ENTITY, &texts.login.not_proven)
        }
        LoginPageError::Store(error) => {
            tracing::error!(%login, %error, "a login could not be stored");
            (StatusCode::SERVICE_UNAVAILABLE, &texts.unavailable)
        }
    }
}

fn show_login(pages: &PagesState, texts: &Texts, address: &str, view: &LoginView) -> Response {
    let service = pages.service_name.as_deref().unwrap_or(texts.this_service);
    let asker = view.client_name.as_deref().unwrap_or(service);
    let open = !view.state.is_over();
    page::render(
        StatusCode::OK,
        &LoginPage {
            texts,
            base: &pages.base,
            address,
            title: by_state(&texts.login.titles, view.state),
            asks: &fill(texts.login.asks, &[("service", asker)]),
            status: by_state(&texts.login.status, view.state),
            tone: match view.state {
                LoginState::Waiting | LoginState::Asking => "",
                LoginState::Approved { .. } => "passed",
                LoginState::Declined | LoginState::Expired => "failed",
            },
            state: &word(view),
            open,
            wallet_url: &view.wallet_url,
            qr: Some(view.state).filter(|state| *state == LoginState::Waiting).and_then(|_| Qr::of(&view.wallet_url)),
            unsigned_proof: &view.unsigned_proof,
            can_scan: view.state == LoginState::Waiting,
            offers_signers: view.offers_signers,
            signer: view.signer.as_ref().map(|signer| SignerPart::of(signer, &texts.login)),
            learns_heading: &fill(texts.login.learns_heading, &[("service", asker)]),
            time_left: &texts.time_left(view.time_left),
            return_url: view.return_url.as_deref().filter(|_| !open),
        },
    )
}

/// The state in one word.
fn word(view: &LoginView) -> String {
    let login = match view.state {
        LoginState::Waiting => "waiting",
        LoginState::Asking => "asking",
        LoginState::Approved { .. } => "approved",
        LoginState::Declined => "declined",
        LoginState::Expired => "expired",
    };
    match &view.signer {
        Some(signer) => format!("{login}-signer-{}", signer::word(&signer.status)),
        None => login.to_owned(),
    }
}

const fn by_state(texts: &LoginStatusTexts, state: LoginState) -> &'static str {
    match state {
        LoginState::Waiting => texts.waiting,
        LoginState::Asking => texts.asking,
        LoginState::Approved { .. } => texts.approved,
        LoginState::Declined => texts.declined,
        LoginState::Expired => texts.expired,
    }
}

pub(crate) fn not_found(pages: &PagesState, texts: &Texts) -> Response {
    message(pages, texts, StatusCode::NOT_FOUND, &texts.login.not_found)
}

pub(crate) fn message(pages: &PagesState, texts: &Texts, status: StatusCode, message: &Message) -> Response {
    page::message(status, texts, &pages.base, message, None)
}
