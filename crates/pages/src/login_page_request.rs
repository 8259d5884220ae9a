//! What requests to the page of a login share.

use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use usher_engine::operations::LoginMethod;
use usher_engine::ports::StoreError;
use usher_engine::{LoginPageError, OpenedLogin, ReusablePage, StreamId};
use usher_page_layout::cookie;

use crate::browser::{LoginCookie, last_method, login_cookie_name};
use crate::keyed_page::Address;
use crate::page::{self, Next};
use crate::state::PagesState;
use crate::texts::{Message, Texts};
use crate::visit::Visit;

const FOLDER: &str = "login";

/// Part of the user agent of browsers on Android phones.
const ANDROID: &[u8] = b"Android";

pub(crate) struct AtLogin {
    pub(crate) login: StreamId,
    pub(crate) secret: String,
    /// The page's own path.
    pub(crate) address: String,
    /// The secret that binds the page to the browser, from its cookie.
    pub(crate) browser: Option<String>,
    /// The page of a reusable login on which this login began, from the browser's cookie.
    begun_at: Option<ReusablePage>,
    /// The browser's last login method, from its cookie.
    pub(crate) last_used: Option<LoginMethod>,
    /// Whether the user agent is that of an Android phone.
    pub(crate) is_android: bool,
    pub(crate) texts: &'static Texts,
    pub(crate) visit: Visit,
}

impl FromRequestParts<PagesState> for AtLogin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &PagesState) -> Result<Self, Response> {
        let Ok(visit) = Visit::from_request_parts(parts, pages).await;
        let texts = visit.texts;
        let Path((id, secret)) =
            Address::from_request_parts(parts, pages).await.map_err(|rejection| rejection.into_response())?;
        // A secret of other characters is none of ours, and could not be in a header.
        let is_secret = secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let Some(login) = id.parse::<StreamId>().ok().filter(|_| is_secret) else {
            return Err(page::message(StatusCode::NOT_FOUND, &visit, &texts.login.not_found, Next::Nothing));
        };
        let shown = cookie(&parts.headers, &login_cookie_name(pages.url(), login)).map(LoginCookie::read);
        let (browser, begun_at) = shown.map_or((None, None), |shown| (Some(shown.browser), shown.begun_at));
        let last_used = last_method(pages.url(), &parts.headers);
        let is_android = parts
            .headers
            .get(USER_AGENT)
            .is_some_and(|agent| agent.as_bytes().windows(ANDROID.len()).any(|part| part == ANDROID));
        let address = pages.address(FOLDER, login, &secret);
        Ok(Self { login, secret, address, browser, begun_at, last_used, is_android, texts, visit })
    }
}

impl AtLogin {
    pub(crate) fn message(&self, status: StatusCode, message: &Message, next: Next<'_>) -> Response {
        page::message(status, &self.visit, message, next)
    }

    /// The response for an unknown login. If the browser had it, it made room for others, or ended long ago.
    pub(crate) async fn not_found(&self, pages: &PagesState) -> Response {
        let not_found = || self.message(StatusCode::NOT_FOUND, &self.texts.login.not_found, Next::Nothing);
        let Some(page) = &self.begun_at else { return not_found() };
        match pages.engine.logins().open(page.login, &page.page_secret, None, false).await {
            Ok(OpenedLogin::Reusable) => {
                let address = self.page_of(pages, page.login, &page.page_secret);
                self.message(StatusCode::GONE, &self.texts.login.gone, Next::StartAgain(&address))
            }
            Ok(OpenedLogin::Closed) => self.closed(),
            Ok(_) => not_found(),
            Err(error) => self.unavailable(&error),
        }
    }

    pub(crate) fn closed(&self) -> Response {
        self.message(StatusCode::GONE, &self.texts.login.over, Next::Nothing)
    }

    pub(crate) fn page_of(&self, pages: &PagesState, login: StreamId, secret: &str) -> String {
        pages.address(FOLDER, login, secret)
    }

    pub(crate) fn elsewhere(&self, pages: &PagesState, start_again: Option<&ReusablePage>) -> Response {
        let texts = &self.texts.login;
        match start_again.map(|page| self.page_of(pages, page.login, &page.page_secret)) {
            None => self.message(StatusCode::FORBIDDEN, &texts.opened_elsewhere, Next::Nothing),
            Some(address) => {
                self.message(StatusCode::FORBIDDEN, &texts.opened_elsewhere_start_again, Next::StartAgain(&address))
            }
        }
    }

    pub(crate) async fn refused(&self, pages: &PagesState, error: &LoginPageError) -> Response {
        match error {
            LoginPageError::NotFound => self.not_found(pages).await,
            LoginPageError::OtherBrowser => {
                let browser = self.browser.as_deref();
                match pages.engine.logins().open(self.login, &self.secret, browser, false).await {
                    Ok(OpenedLogin::OtherBrowser { start_again }) => self.elsewhere(pages, start_again.as_ref()),
                    _ => self.elsewhere(pages, None),
                }
            }
            LoginPageError::Ended | LoginPageError::Store(_) => {
                let (status, said) = self.refusal(error);
                self.message(status, said, Next::Nothing)
            }
        }
    }

    /// The response when the login cannot be read.
    pub(crate) fn unavailable(&self, error: &StoreError) -> Response {
        tracing::error!(login = %self.login, %error, "the page of a login could not be shown");
        self.message(StatusCode::SERVICE_UNAVAILABLE, &self.texts.unavailable, Next::Nothing)
    }

    pub(crate) fn refusal(&self, error: &LoginPageError) -> (StatusCode, &'static Message) {
        let Self { login, texts, .. } = self;
        match error {
            LoginPageError::NotFound => (StatusCode::NOT_FOUND, &texts.login.not_found),
            LoginPageError::OtherBrowser => (StatusCode::FORBIDDEN, &texts.login.opened_elsewhere),
            LoginPageError::Ended => (StatusCode::CONFLICT, &texts.login.over),
            LoginPageError::Store(error) => {
                tracing::error!(%login, %error, "a login could not be stored");
                (StatusCode::SERVICE_UNAVAILABLE, &texts.unavailable)
            }
        }
    }
}

/// The response to a body of another media type, which prevents cross-site forms; `None` if the type is right.
pub(crate) fn other_type(headers: &HeaderMap, media_type: &str) -> Option<Response> {
    let given = headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let is_other = !given.starts_with(media_type.as_bytes());
    is_other.then(|| (page::HEADERS, StatusCode::UNSUPPORTED_MEDIA_TYPE).into_response())
}
