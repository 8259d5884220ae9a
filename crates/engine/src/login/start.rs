//! Starts a login.

use std::time::Duration;

use super::Logins;
use super::key_handshake::static_token::Wanted;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::login::key_handshake::{KeyHandshake, LoginUrl};
use crate::login::operation::{Login, LoginOrigin, LoginTerms};
use crate::registry::Operation;
use crate::request_body;
use crate::request_body::{Nullable, VisibleAscii, WebUrl};
use crate::{ClientNetwork, Requester, StreamId};

request_body! {
    /// Starts a login. Every field is optional, and so is the body.
    #[derive(Clone, Debug, Default)]
    pub struct LoginRequest, LoginRequestDraft = "LoginRequest", example { "return_url": "https://app.example/login" } {
        /// Where the login page leads the user's browser at the end, with `stream_id` in the query, and with the `code` that you
        /// redeem (`POST /login/{stream_id}/redeem`). It must be under one of `pages.return_urls`, and have no fragment and no
        /// `stream_id` or `code` in its query.
        return_url: Nullable<WebUrl>,
        /// Makes the login reusable, for a poster, a table or a door: `url` and `page_url` are for any number of users, the same
        /// token always has the same stream and URLs, and the stream never ends. Anybody who knows the token can make `url`:
        /// choose it like a name on a poster, or at random if only those who see the code may use it.
        static_token: Nullable<VisibleAscii<128>>,
    }
}

/// A login that has started.
#[derive(Clone)]
pub struct LoginStarted {
    /// Its stream.
    pub stream_id: StreamId,
    /// The URL for a wallet. Whoever has it can log in in the user's place.
    pub url: String,
    /// The page for the user's browser, which belongs to the first browser that opens it; that of a reusable login gives each
    /// browser a login of its own.
    pub page_url: String,
}

/// A browser's login at a reusable login.
#[derive(Clone)]
pub struct ChildLogin {
    /// Its id.
    pub login: StreamId,
    /// The secret in its page's address.
    pub page_secret: String,
    /// The secret for the browser's cookie, and the remaining time; `None` if the browser has it.
    pub new_browser: Option<(String, Duration)>,
}

/// A request for a login of a browser, for a protocol that brings browsers to the login, such as OpenID Connect.
#[derive(Clone, Debug)]
pub struct BrowserLogin {
    /// The requesting app's name, for the page.
    pub client_name: String,
    /// Where the page redirects at the end: an address of this service.
    pub continue_url: String,
    /// The browser's network.
    pub network: ClientNetwork,
    /// Whether an operator logs in, which takes no place of users.
    pub is_of_operator: bool,
}

/// A login started for a browser.
#[derive(Clone)]
pub struct BrowserLoginStarted {
    /// Its stream.
    pub stream_id: StreamId,
    /// The page.
    pub page_url: String,
    /// The secret for the browser's cookie.
    pub browser: String,
    /// The addresses (`continue_url`) of unused logins that have made room for this one.
    pub replaced: Vec<String>,
}

usher_protocol::debug_shows!(LoginStarted { stream_id });

usher_protocol::debug_shows!(ChildLogin { login });

usher_protocol::debug_shows!(BrowserLoginStarted { stream_id });

impl Logins {
    /// Starts a login: a handshake and an authentication as one operation, with a page for the user's browser.
    pub async fn start(
        &self,
        requester: &Requester,
        request: LoginRequest,
        once: Option<IdempotentRequest<LoginStarted>>,
    ) -> Result<LoginStarted, StartError> {
        if let Some(token) = request.static_token {
            let record = |stream_id, handshake: &KeyHandshake| {
                once.as_ref().map(|once| once.record(&self.reusable_login(stream_id, handshake), self.core.clock.now()))
            };
            let wanted = Wanted::Login { return_url: request.return_url };
            let opened = self.handshakes.open_static_token(requester, &token, &wanted, record).await?;
            let started = self.reusable_login(opened.stream_id, &opened.handshake);
            return if opened.is_new { Ok(started) } else { self.starter.respond(once, started).await };
        }
        let stream_id = self.core.ids.stream_id();
        let return_url = self.pages.login_return_url(request.return_url.as_deref(), stream_id)?;
        let terms = LoginTerms { return_url, ..self.new.terms(LoginOrigin::App) };
        let started = LoginStarted {
            stream_id,
            url: self.urls.url(&terms.token, false),
            page_url: self.login_page(stream_id, &terms.page_secret),
        };
        let record = once.map(|once| once.record(&started, self.core.clock.now()));
        let login = Operation::Login(Login::start(terms));
        self.starter.create_new(stream_id, requester.origin(), login, Vec::new(), record).await?;
        Ok(started)
    }

    /// Starts the login for which [`start_in_browser`](Self::start_in_browser) has made room.
    pub(super) async fn start_browser_login(
        &self,
        stream_id: StreamId,
        request: BrowserLogin,
    ) -> Result<BrowserLoginStarted, StartError> {
        let browser = self.core.ids.token();
        let terms = LoginTerms {
            browser: Some(browser.clone()),
            return_url: Some(request.continue_url),
            ..self.new.terms(LoginOrigin::Client { name: request.client_name })
        };
        let page_url = self.login_page(stream_id, &terms.page_secret);
        self.starter.create_new(stream_id, None, Operation::Login(Login::start(terms)), Vec::new(), None).await?;
        Ok(BrowserLoginStarted { stream_id, page_url, browser, replaced: Vec::new() })
    }

    /// Starts a browser's login at a reusable login, whose pages redirect to `return_url` at the end.
    pub(crate) async fn start_child_login(
        &self,
        login: StreamId,
        reusable: StreamId,
        return_url: Option<String>,
    ) -> Result<ChildLogin, StartError> {
        let browser = self.core.ids.token();
        let origin = LoginOrigin::Reusable { stream: reusable };
        let terms = LoginTerms { browser: Some(browser.clone()), return_url, ..self.new.terms(origin) };
        let page_secret = terms.page_secret.clone();
        self.starter.create_new(login, None, Operation::Login(Login::start(terms)), Vec::new(), None).await?;
        Ok(ChildLogin { login, page_secret, new_browser: Some((browser, self.new.handshake_ttl)) })
    }

    fn reusable_login(&self, stream_id: StreamId, handshake: &KeyHandshake) -> LoginStarted {
        LoginStarted {
            stream_id,
            url: self.urls.url(handshake.token(), false),
            page_url: self.login_page(stream_id, handshake.login().map_or("", LoginUrl::page_secret)),
        }
    }

    fn login_page(&self, stream_id: StreamId, page_secret: &str) -> String {
        format!("{}/login/{stream_id}/{page_secret}", self.pages.url)
    }
}
