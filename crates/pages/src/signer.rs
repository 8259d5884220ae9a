//! Remote signers (NIP-46): the part of a login's page that shows a signer's progress, and the page on which the user
//! enters one.
//!
//! That page does not wait for events, so it never reloads while the user pastes an address.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use usher_engine::operations::{LoginMethod, SignerFault, SignerStatus};
use usher_engine::{AskError, AskLimit, LoginPageError, SignerView};
use usher_page_layout::Frame;

use crate::login_page_request::{AtLogin, other_type};
use crate::page::{self, Next};
use crate::qr::Qr;
use crate::state::PagesState;
use crate::texts::{LoginTexts, Message, Texts};

#[derive(Template)]
#[template(path = "signer.html")]
struct SignerPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The path of the login's page.
    address: &'a str,
    /// The rejected input, and its error.
    refused: Option<(&'a str, &'a Message)>,
}

/// The request to a signer, as the login's page shows it.
pub(crate) struct SignerPart<'a> {
    pub(crate) status: &'static str,
    /// Our address, until a signer has replied.
    pub(crate) address: Option<&'a str>,
    /// The address as a QR code.
    pub(crate) qr: Option<Qr>,
    pub(crate) confirm: Option<&'a str>,
}

impl<'a> SignerPart<'a> {
    pub(crate) fn of(view: &'a SignerView, texts: &LoginTexts) -> Self {
        let said = &texts.signer_status;
        let (status, confirm) = match &view.status {
            SignerStatus::Starting => (said.starting, None),
            SignerStatus::Listening => (said.listening, None),
            SignerStatus::Connected => (said.connected, None),
            SignerStatus::Confirming { page } => (said.confirming, Some(page.as_str())),
            SignerStatus::Silent => (said.silent, None),
            SignerStatus::Failed { fault } => match fault {
                SignerFault::Refused => (said.refused, None),
                SignerFault::Invalid => (said.invalid, None),
                SignerFault::Unreachable => (said.unreachable, None),
                SignerFault::Busy => (said.busy, None),
            },
        };
        // A signer's reply would be lost until a relay delivers messages to us.
        let address = view.address.as_deref().filter(|_| view.status == SignerStatus::Listening);
        Self { status, address, qr: address.and_then(Qr::of), confirm }
    }
}

pub(crate) const fn word(status: &SignerStatus) -> &'static str {
    match status {
        SignerStatus::Starting => "starting",
        SignerStatus::Listening => "listening",
        SignerStatus::Connected => "connected",
        SignerStatus::Confirming { .. } => "confirming",
        SignerStatus::Silent => "silent",
        SignerStatus::Failed { .. } => "failed",
    }
}

/// `GET /login/{stream_id}/{secret}/signer`
pub(crate) async fn show(State(pages): State<PagesState>, at: AtLogin) -> Response {
    if !pages.login_methods.has(LoginMethod::Signer) {
        return page::see_other(&at.address);
    }
    // The login's page must be opened before this one.
    let Some(browser) = &at.browser else { return page::see_other(&at.address) };
    match pages.engine.logins().may_ask_signer(at.login, &at.secret, browser).await {
        Ok(true) => form_page(StatusCode::OK, &at, None),
        // The login's page shows why.
        Ok(false) => page::see_other(&at.address),
        Err(error) => at.unavailable(&error),
    }
}

/// `POST /login/{stream_id}/{secret}/signer`: the form has the signer's `address`, or none if the signer opens ours.
pub(crate) async fn ask(State(pages): State<PagesState>, at: AtLogin, headers: HeaderMap, form: String) -> Response {
    if let Some(refused) = other_type(&headers, "application/x-www-form-urlencoded") {
        return refused;
    }
    if !pages.login_methods.has(LoginMethod::Signer) {
        return page::see_other(&at.address);
    }
    let signer = page::field(&form, "address");
    let (browser, texts) = (at.browser.as_deref(), &at.texts.login);
    match pages.engine.logins().ask_signer(at.login, &at.secret, browser, signer.as_deref(), at.visit.network).await {
        // The code is for the signer.
        Ok(()) => page::see_other(&format!("{}#code", at.address)),
        // The page shows the outcome.
        Err(AskError::Page(LoginPageError::Ended)) => page::see_other(&at.address),
        Err(AskError::Page(error)) => at.refused(&pages, &error).await,
        Err(AskError::Address(_)) => {
            let refused = (signer.as_deref().unwrap_or_default(), &texts.signer_invalid);
            form_page(StatusCode::UNPROCESSABLE_ENTITY, &at, Some(refused))
        }
        Err(AskError::Unreachable(_)) => {
            at.message(StatusCode::SERVICE_UNAVAILABLE, &texts.signer_unreachable, Next::Back(&at.address))
        }
        Err(AskError::Limit(AskLimit::SignersOfLogin)) => {
            at.message(StatusCode::TOO_MANY_REQUESTS, &texts.signer_too_often, Next::Back(&at.address))
        }
        Err(AskError::Limit(AskLimit::ReusableLogin)) => {
            at.message(StatusCode::TOO_MANY_REQUESTS, &texts.too_often, Next::Nothing)
        }
    }
}

fn form_page(status: StatusCode, at: &AtLogin, refused: Option<(&str, &Message)>) -> Response {
    let frame = &at.visit.frame;
    frame.render(status, &SignerPage { frame, texts: at.texts, address: &at.address, refused })
}
