//! Passkeys on a login's page: the requests of its script, and the page on which users open a recovery file, see their
//! key, or add a passkey for it. That page does not wait for events, so it never reloads while the user types.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use usher_engine::operations::LoginMethod;
use usher_engine::{LoginView, OpenedLogin, PasskeyLoginError, PasskeyProof, PasskeyUse};
use usher_page_layout::Frame;

use crate::keyed_page::Page;
use crate::login_page_request::{AtLogin, other_type};
use crate::page;
use crate::state::PagesState;
use crate::texts::Texts;

/// What the page's script needs for passkeys.
pub(crate) struct PasskeyPart<'a> {
    /// The domain that passkeys are bound to.
    pub(crate) rp_id: &'a str,
}

impl<'a> PasskeyPart<'a> {
    /// `None` if the page offers no passkeys.
    pub(crate) fn of(view: &'a LoginView) -> Option<Self> {
        view.passkey_rp_id.as_deref().map(|rp_id| Self { rp_id })
    }
}

#[derive(Template)]
#[template(path = "passkey.html")]
struct PasskeyPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The path of the login's page.
    address: &'a str,
    passkey: PasskeyPart<'a>,
    /// The event to sign: JSON text.
    unsigned_proof: &'a str,
}

#[derive(Deserialize)]
struct OptionsRequest {
    kind: PasskeyUse,
}

#[derive(Deserialize)]
struct WrappedKeyRequest {
    /// The passkey's id: base64url.
    id: String,
}

#[derive(Serialize)]
struct WrappedKeyResponse {
    main_key: String,
    wrapped_key: Option<String>,
}

/// `GET /login/{stream_id}/{secret}/passkey`
pub(crate) async fn show(State(pages): State<PagesState>, at: AtLogin) -> Response {
    // The login's page must be opened before this one.
    let Some(browser) = at.browser.as_deref() else { return page::see_other(&at.address) };
    match pages.engine.logins().open(at.login, &at.secret, Some(browser), false).await {
        Ok(OpenedLogin::Page { view, .. }) if view.state.is_open() => {
            // The login's page shows why.
            let offered = PasskeyPart::of(&view).filter(|_| pages.login_methods.has(LoginMethod::Passkey));
            let Some(passkey) = offered else { return page::see_other(&at.address) };
            let page = PasskeyPage {
                frame: &at.visit.frame,
                texts: at.texts,
                address: &at.address,
                passkey,
                unsigned_proof: &view.unsigned_proof,
            };
            let _turn = pages.turn().await;
            at.visit.frame.render(StatusCode::OK, &page)
        }
        Ok(_) => page::see_other(&at.address),
        Err(error) => at.unavailable(&error),
    }
}

/// `POST /login/{stream_id}/{secret}/passkey/options`: the options for the user's authenticator.
pub(crate) async fn options(State(pages): State<PagesState>, at: AtLogin, headers: HeaderMap, body: String) -> Page {
    let OptionsRequest { kind } = read(&pages, &at, &headers, &body).map_err(|refused| *refused)?;
    let options = pages.engine.logins().passkey_options(at.login, &at.secret, at.browser.as_deref(), kind).await;
    let options = options.map_err(|error| refusal(&at, &error))?;
    Ok((page::HEADERS, Json(options)).into_response())
}

/// `POST /login/{stream_id}/{secret}/passkey/wrapped-key`: the key that was encrypted for a passkey.
pub(crate) async fn wrapped_key(
    State(pages): State<PagesState>,
    at: AtLogin,
    headers: HeaderMap,
    body: String,
) -> Page {
    let WrappedKeyRequest { id } = read(&pages, &at, &headers, &body).map_err(|refused| *refused)?;
    let found = pages.engine.logins().wrapped_key(at.login, &at.secret, at.browser.as_deref(), &id).await;
    let found = found.map_err(|error| refusal(&at, &error))?;
    let found = WrappedKeyResponse { main_key: found.main_key.to_hex(), wrapped_key: found.wrapped_key };
    Ok((page::HEADERS, Json(found)).into_response())
}

/// `POST /login/{stream_id}/{secret}/passkey`: a passkey was created or used, and the event is signed with its key.
pub(crate) async fn prove(State(pages): State<PagesState>, at: AtLogin, headers: HeaderMap, body: String) -> Page {
    let proof: PasskeyProof = read(&pages, &at, &headers, &body).map_err(|refused| *refused)?;
    let browser = at.browser.as_deref();
    let proven =
        pages.engine.logins().prove_with_passkey(at.login, &at.secret, browser, &proof, at.visit.network).await;
    proven.map_err(|error| refusal(&at, &error))?;
    Ok((page::HEADERS, StatusCode::NO_CONTENT).into_response())
}

fn read<T: DeserializeOwned>(
    pages: &PagesState,
    at: &AtLogin,
    headers: &HeaderMap,
    body: &str,
) -> Result<T, Box<Response>> {
    if let Some(refused) = other_type(headers, "application/json") {
        return Err(Box::new(refused));
    }
    if !pages.login_methods.has(LoginMethod::Passkey) {
        return Err(Box::new(refusal(at, &PasskeyLoginError::NotOffered)));
    }
    serde_json::from_str(body)
        .map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, page::HEADERS, error.to_string()).into_response().into())
}

/// The response when a passkey login is refused, shown by the page's script.
fn refusal(at: &AtLogin, error: &PasskeyLoginError) -> Response {
    let texts = &at.texts.login;
    let (status, said) = match error {
        PasskeyLoginError::Page(error) => {
            let (status, said) = at.refusal(error);
            (status, said.message)
        }
        PasskeyLoginError::Unknown => (StatusCode::NOT_FOUND, texts.passkey.unknown),
        PasskeyLoginError::NotOffered => (StatusCode::NOT_FOUND, texts.passkey.not_offered),
        PasskeyLoginError::TooOften => (StatusCode::TOO_MANY_REQUESTS, texts.too_often.message),
        PasskeyLoginError::TooMany => (StatusCode::CONFLICT, texts.passkey.too_many),
        PasskeyLoginError::OtherKey => (StatusCode::UNPROCESSABLE_ENTITY, texts.passkey.other_key),
        PasskeyLoginError::KeyOfNothing => (StatusCode::UNPROCESSABLE_ENTITY, texts.passkey.no_prf),
        PasskeyLoginError::NoChallenge => (StatusCode::CONFLICT, texts.passkey.again),
        PasskeyLoginError::Malformed(_)
        | PasskeyLoginError::Known
        | PasskeyLoginError::Passkey(_)
        | PasskeyLoginError::Proof(_) => {
            tracing::info!(login = %at.login, %error, "a passkey's proof was refused");
            (StatusCode::UNPROCESSABLE_ENTITY, texts.passkey.refused)
        }
    };
    page::for_script(status, said)
}
