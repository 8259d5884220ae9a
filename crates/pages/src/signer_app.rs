//! Signer apps on an Android phone (NIP-55 for web applications): a link opens the app, and the app opens an address of the
//! login's page with the signed event in it.
//!
//! The address belongs to this page, and the signed event contains this login's challenge: it is valid for one login,
//! in the browser that has the page.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use url::form_urlencoded;
use usher_engine::operations::LoginMethod;
use usher_engine::{LoginPageError, PageSigner, ProveError};

use crate::browser::{FetchInitiator, fetch_initiator};
use crate::login_page_request::AtLogin;
use crate::page::{self, Next};
use crate::state::PagesState;

pub(crate) fn link(pages: &PagesState, at: &AtLogin, unsigned_proof: &str) -> String {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    // The app appends the signed event.
    let callback = format!("{}/login/{}/{}/signed?event=", pages.url(), at.login, at.secret);
    format!(
        "nostrsigner:{}?compressionType=none&returnType=event&type=sign_event&callbackUrl={}",
        encoded(unsigned_proof),
        encoded(&callback)
    )
}

/// `GET /login/{stream_id}/{secret}/signed`: the app has signed `event`.
pub(crate) async fn signed(
    State(pages): State<PagesState>,
    at: AtLogin,
    method: Method,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    if !matches!(fetch_initiator(&method, &headers), FetchInitiator::User | FetchInitiator::Unknown) {
        return page::not_shown();
    }
    if !pages.login_methods.has(LoginMethod::Signer) {
        return at.message(StatusCode::NOT_FOUND, &at.texts.no_page, Next::Back(&at.address));
    }
    let event = page::field(&query.unwrap_or_default(), "event").unwrap_or_default();
    let browser = at.browser.as_deref();
    match pages.engine.logins().prove(at.login, &at.secret, browser, &event, PageSigner::App, at.visit.network).await {
        // The page shows the outcome.
        Ok(()) | Err(ProveError::Page(LoginPageError::Ended)) => page::see_other(&at.address),
        Err(ProveError::Page(error)) => at.refused(&pages, &error).await,
        Err(ProveError::TooOften) => {
            at.message(StatusCode::TOO_MANY_REQUESTS, &at.texts.login.too_often, Next::Back(&at.address))
        }
        Err(ProveError::Proof(error)) => {
            tracing::info!(login = %at.login, %error, "a signer app's event was refused");
            at.message(StatusCode::UNPROCESSABLE_ENTITY, &at.texts.login.not_proven, Next::Back(&at.address))
        }
    }
}
