//! What the requests to the page of a login have in common.

use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use usher_engine::operations::LoginMethod;
use usher_engine::ports::StoreError;
use usher_engine::{ClientNetwork, LoginPageError, OpenedLogin, ReusablePage, StreamId};

use crate::PagesState;
use crate::browser::{LoginCookie, cookie, last_method, login_cookie_name};
use crate::keyed_page::Address;
use crate::page::{self, Next};
use crate::texts::{Message, Texts};
use crate::visit::Visit;

/// The first part of the path of the page.
const FOLDER: &str = "login";

/// What the browsers of Android phones call themselves, among other things.
const ANDROID: &[u8] = b"Android";

/// A request to the page of a login.
pub(crate) struct AtLogin {
    pub(crate) login: StreamId,
    /// What the page is found by.
    pub(crate) secret: String,
    /// The page's own path.
    pub(crate) address: String,
    /// What the browser shows to have the page.
    pub(crate) browser: Option<String>,
    /// The page of a reusable login on which the browser says that it has begun this one.
    begun_at: Option<ReusablePage>,
    /// What the browser says that it has logged in with before.
    pub(crate) last_used: Option<LoginMethod>,
    /// Whether the browser says that it is on an Android phone.
    pub(crate) is_android: bool,
    pub(crate) network: ClientNetwork,
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
        let Ok(login) = id.parse::<StreamId>() else {
            return Err(page::message(StatusCode::NOT_FOUND, &visit, &texts.login.not_found, Next::Nothing));
        };
        let shown =
            cookie(&parts.headers, &login_cookie_name(pages.url(), login)).map(|value| LoginCookie::read(&value));
        let (browser, begun_at) = shown.map_or((None, None), |shown| (Some(shown.browser), shown.begun_at));
        let last_used = last_method(pages.url(), &parts.headers);
        let is_android = parts
            .headers
            .get(USER_AGENT)
            .is_some_and(|agent| agent.as_bytes().windows(ANDROID.len()).any(|part| part == ANDROID));
        let address = pages.address(FOLDER, login, &secret);
        // Without a server in front, as in tests, everybody is here.
        let network = parts.extensions.get().copied().unwrap_or(ClientNetwork::Loopback);
        Ok(Self { login, secret, address, browser, begun_at, last_used, is_android, network, texts, visit })
    }
}

impl AtLogin {
    /// A page that only says something.
    pub(crate) fn message(&self, status: StatusCode, message: &Message, next: Next<'_>) -> Response {
        page::message(status, &self.visit, message, next)
    }

    /// There is no such login. If the browser had it, it has made room for others, or has been over for long.
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

    /// The reusable login is closed.
    pub(crate) fn closed(&self) -> Response {
        self.message(StatusCode::GONE, &self.texts.login.over, Next::Nothing)
    }

    /// The path of the page of another login.
    pub(crate) fn page_of(&self, pages: &PagesState, login: StreamId, secret: &str) -> String {
        pages.address(FOLDER, login, secret)
    }

    /// The page belongs to another browser.
    pub(crate) fn elsewhere(&self, pages: &PagesState, start_again: Option<&ReusablePage>) -> Response {
        let texts = &self.texts.login;
        match start_again.map(|page| self.page_of(pages, page.login, &page.page_secret)) {
            None => self.message(StatusCode::FORBIDDEN, &texts.opened_elsewhere, Next::Nothing),
            Some(address) => {
                self.message(StatusCode::FORBIDDEN, &texts.opened_elsewhere_start_again, Next::StartAgain(&address))
            }
        }
    }

    /// The response to a form when its request is refused.
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

    /// The login cannot be read.
    pub(crate) fn unavailable(&self, error: &StoreError) -> Response {
        tracing::error!(login = %self.login, %error, "the page of a login could not be shown");
        self.message(StatusCode::SERVICE_UNAVAILABLE, &self.texts.unavailable, Next::Nothing)
    }

    /// The message for the user when something is refused.
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

/// The response to a body of another type: a form of another site cannot send every type. `None` when it is of this one.
pub(crate) fn other_type(headers: &HeaderMap, media_type: &str) -> Option<Response> {
    let given = headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let is_other = !given.starts_with(media_type.as_bytes());
    is_other.then(|| (page::HEADERS, StatusCode::UNSUPPORTED_MEDIA_TYPE).into_response())
}
