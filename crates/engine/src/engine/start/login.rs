//! Starts a login.

use std::fmt;

use super::{IdempotentRequest, Starter};
use crate::StreamId;
use crate::engine::StartError;
use crate::operations::{Login, LoginTerms, Operation};

/// Asks for a login.
#[derive(Clone, Debug, Default)]
pub struct LoginRequest {
    /// Where the page leads to at the end; under one of `pages.return_urls`.
    pub return_url: Option<String>,
}

/// A login that has started.
#[derive(Clone)]
pub struct LoginStarted {
    /// Its stream.
    pub stream_id: StreamId,
    /// The URL for a wallet. Whoever has it can log in in the user's place.
    pub url: String,
    /// The page for the user's browser, which belongs to the first browser that opens it.
    pub page_url: String,
}

/// Asks for a login of the user of a browser that is here already: for a protocol that brings users in front of the login, as
/// OpenID Connect does.
#[derive(Clone, Debug)]
pub struct BrowserLogin {
    /// Who asks for the login, as the page tells the user.
    pub client_name: String,
    /// Where the page leads to at the end: an address of this service's own.
    pub continue_url: String,
}

/// A login of a browser that is here already.
#[derive(Clone)]
pub struct BrowserLoginStarted {
    /// Its stream.
    pub stream_id: StreamId,
    /// The page.
    pub page_url: String,
    /// What the browser must show to open the page, in a cookie.
    pub browser: String,
    /// The addresses to which the pages of other logins would have led (`continue_url`): they have made room for this one,
    /// because nobody had named a key there.
    pub replaced: Vec<String>,
}

impl fmt::Debug for LoginStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginStarted").field("stream_id", &self.stream_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for BrowserLoginStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserLoginStarted").field("stream_id", &self.stream_id).finish_non_exhaustive()
    }
}

impl Starter {
    /// See [`Engine::start_login`](crate::Engine::start_login).
    pub(in crate::engine) async fn start_login(
        &self,
        request: LoginRequest,
        once: Option<IdempotentRequest<LoginStarted>>,
    ) -> Result<LoginStarted, StartError> {
        let stream_id = self.ids.stream_id();
        let return_url = self.rules.pages.return_url(request.return_url.as_deref(), stream_id)?;
        let terms = LoginTerms { return_url, ..self.login_terms() };
        let started = LoginStarted {
            stream_id,
            url: self.urls.url(&terms.token, false),
            page_url: self.login_page(stream_id, &terms),
        };
        let record = once.map(|once| once.record(&started, self.clock.now()));
        self.create_new(stream_id, Operation::Login(Login::start(terms)), Vec::new(), record).await?;
        Ok(started)
    }

    /// See [`Engine::start_browser_login`](crate::Engine::start_browser_login).
    pub(in crate::engine) async fn start_browser_login(
        &self,
        request: BrowserLogin,
    ) -> Result<BrowserLoginStarted, StartError> {
        let (stream_id, browser) = (self.ids.stream_id(), self.ids.token());
        let terms = LoginTerms {
            browser: Some(browser.clone()),
            client_name: Some(request.client_name),
            return_url: Some(request.continue_url),
            ..self.login_terms()
        };
        let page_url = self.login_page(stream_id, &terms);
        self.create_new(stream_id, Operation::Login(Login::start(terms)), Vec::new(), None).await?;
        Ok(BrowserLoginStarted { stream_id, page_url, browser, replaced: Vec::new() })
    }

    fn login_terms(&self) -> LoginTerms {
        LoginTerms {
            token: self.ids.token(),
            wallet_challenge: self.ids.token(),
            signer_challenge: self.ids.token(),
            page_secret: self.ids.token(),
            browser: None,
            client_name: None,
            return_url: None,
            expires_at: self.clock.now().plus(self.rules.handshake_ttl),
            challenge_ttl: self.rules.challenge_ttl,
            service_proof: self.rules.subkey_proof.clone(),
        }
    }

    fn login_page(&self, stream_id: StreamId, terms: &LoginTerms) -> String {
        format!("{}/login/{stream_id}/{}", self.rules.pages.url, terms.page_secret)
    }
}
