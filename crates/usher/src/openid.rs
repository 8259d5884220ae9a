//! The OpenID Connect provider, on the engine's logins.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::HeaderMap;
use usher_engine::operations::LoginState;
use usher_engine::{BrowserLogin, Engine, StartError, StreamId};
use usher_openid_provider::{
    AddressPseudonymKey, BeginLogin, LoginError, LoginOutcome, LoginStarted, Logins, OpenIdOptions, TokenKey,
};
use usher_page_layout::Site;
use usher_page_layout::cookie;
use usher_pages::{login_cookie_name, login_cookies};

use crate::config::Config;

/// How long the browser keeps a login's cookie; `login_cookies` adds an hour.
const LIFETIME: Duration = Duration::from_secs(3600);

/// The provider's options.
pub(crate) fn options(
    config: &Config,
    pages_url: &str,
    site: &Site,
    pseudonym_key: &[u8; 32],
    token_key: &[u8; 32],
) -> OpenIdOptions {
    let provider = &config.openid_provider;
    OpenIdOptions {
        issuer: pages_url.to_owned(),
        site: site.clone(),
        clients: provider.clients.as_ref().map(|clients| clients.clients().to_vec()).unwrap_or_default(),
        email_domain: provider.email_domain.as_ref().map(|domain| domain.as_str().to_ascii_lowercase()),
        session_ttl: Duration::from_secs(provider.session_hours.get() * 3600),
        pseudonym_key: AddressPseudonymKey::new(pseudonym_key),
        token_key: TokenKey::new(token_key),
    }
}

/// Logins as operations of the engine, durable until their outcome is used.
pub(crate) struct EngineLogins {
    pub(crate) engine: Arc<Engine>,
    /// The URL of the pages, without a trailing slash.
    pub(crate) pages_url: String,
}

#[async_trait]
impl Logins for EngineLogins {
    async fn begin(&self, login: BeginLogin, headers: &HeaderMap) -> Result<LoginStarted, LoginError> {
        let BeginLogin { client_name, continue_url, network } = login;
        let login = BrowserLogin { client_name, continue_url, network, is_of_operator: false };
        let started = self.engine.logins().start_in_browser(login).await;
        let started = started.map_err(|error| match error {
            StartError::TooManyOpen => LoginError::Busy,
            error => LoginError::Store(error.into()),
        })?;
        Ok(LoginStarted {
            login_id: started.stream_id.to_string(),
            page_url: started.page_url,
            set_cookies: login_cookies(&self.pages_url, started.stream_id, &started.browser, LIFETIME, headers),
            replaced: started.replaced,
        })
    }

    fn is_in_use(&self, login_id: &str) -> bool {
        login_id.parse::<StreamId>().is_ok_and(|login| self.engine.logins().is_in_use(login))
    }

    async fn forget(&self, login_id: &str) -> Result<(), LoginError> {
        let Ok(login) = login_id.parse::<StreamId>() else { return Ok(()) };
        self.engine.logins().forget(login).await.map_err(|error| LoginError::Store(error.into()))
    }

    async fn outcome(&self, login_id: &str, headers: &HeaderMap) -> Result<LoginOutcome, LoginError> {
        let Ok(login) = login_id.parse::<StreamId>() else { return Ok(LoginOutcome::OtherBrowser) };
        let Some(browser) = cookie(headers, &login_cookie_name(&self.pages_url, login)) else {
            return Ok(LoginOutcome::OtherBrowser);
        };
        let state = self.engine.logins().state(login, browser).await;
        Ok(match state.map_err(|error| LoginError::Store(error.into()))? {
            None => LoginOutcome::OtherBrowser,
            // Never `Proven`, because it has no code.
            Some(LoginState::Waiting | LoginState::Asking | LoginState::Proven { .. }) => LoginOutcome::Pending,
            Some(LoginState::Approved { main_key, method, at }) => {
                LoginOutcome::Approved { main_key, method: method.as_str().to_owned(), at }
            }
            Some(LoginState::Declined) => LoginOutcome::Declined,
            Some(LoginState::Expired) => LoginOutcome::TimedOut,
        })
    }
}
