//! What the requests to the page of a login have in common.

use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use usher_engine::ports::StoreError;
use usher_engine::{LoginPageError, StreamId};

use crate::PagesState;
use crate::browser::{cookie, login_cookie_name};
use crate::keyed_page::Address;
use crate::language::Language;
use crate::page;
use crate::texts::{Message, Texts};

/// The first part of the path of the page.
const FOLDER: &str = "login";

/// A request to the page of a login.
pub(crate) struct AtLogin {
    pub(crate) login: StreamId,
    /// What the page is found by.
    pub(crate) secret: String,
    /// The page's own path.
    pub(crate) address: String,
    /// What the browser shows to have the page.
    pub(crate) browser: Option<String>,
    pub(crate) texts: &'static Texts,
    base: String,
}

impl FromRequestParts<PagesState> for AtLogin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, pages: &PagesState) -> Result<Self, Response> {
        let Ok(Language(texts)) = Language::from_request_parts(parts, pages).await;
        let Path((id, secret)) =
            Address::from_request_parts(parts, pages).await.map_err(|rejection| rejection.into_response())?;
        let Ok(login) = id.parse::<StreamId>() else {
            return Err(page::message(StatusCode::NOT_FOUND, texts, &pages.base, &texts.login.not_found, None));
        };
        let browser = cookie(&parts.headers, &login_cookie_name(&pages.url, login));
        let (address, base) = (pages.address(FOLDER, login, &secret), pages.base.clone());
        Ok(Self { login, secret, address, browser, texts, base })
    }
}

impl AtLogin {
    /// A page that only says something.
    pub(crate) fn message(&self, status: StatusCode, message: &Message, back: Option<&str>) -> Response {
        page::message(status, self.texts, &self.base, message, back)
    }

    /// There is no such login.
    pub(crate) fn not_found(&self) -> Response {
        self.message(StatusCode::NOT_FOUND, &self.texts.login.not_found, None)
    }

    /// The reusable login is closed.
    pub(crate) fn closed(&self) -> Response {
        self.message(StatusCode::GONE, &self.texts.login.over, None)
    }

    /// The path of the page of another login.
    pub(crate) fn page_of(&self, pages: &PagesState, login: StreamId, secret: &str) -> String {
        pages.address(FOLDER, login, secret)
    }

    /// The page belongs to another browser.
    pub(crate) fn elsewhere(&self) -> Response {
        self.message(StatusCode::FORBIDDEN, &self.texts.login.opened_elsewhere, None)
    }

    /// The login cannot be read.
    pub(crate) fn unavailable(&self, error: &StoreError) -> Response {
        tracing::error!(login = %self.login, %error, "the page of a login could not be shown");
        self.message(StatusCode::SERVICE_UNAVAILABLE, &self.texts.unavailable, None)
    }

    /// The message for the user when something is refused.
    pub(crate) fn refusal(&self, error: &LoginPageError) -> (StatusCode, &'static Message) {
        let Self { login, texts, .. } = self;
        match error {
            LoginPageError::NotFound => (StatusCode::NOT_FOUND, &texts.login.not_found),
            LoginPageError::Elsewhere => (StatusCode::FORBIDDEN, &texts.login.opened_elsewhere),
            LoginPageError::Over => (StatusCode::CONFLICT, &texts.login.over),
            LoginPageError::Busy => (StatusCode::SERVICE_UNAVAILABLE, &texts.unavailable),
            LoginPageError::TooOften => (StatusCode::TOO_MANY_REQUESTS, &texts.login.too_often),
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
}

/// The response to a body of another type: a form of another site cannot send every type. `None` when it is of this one.
pub(crate) fn other_type(headers: &HeaderMap, media_type: &str) -> Option<Response> {
    let given = headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let is_other = !given.starts_with(media_type.as_bytes());
    is_other.then(|| (page::HEADERS, StatusCode::UNSUPPORTED_MEDIA_TYPE).into_response())
}
