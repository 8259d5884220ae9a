//! Identifiers of the form `name@domain` (NIP-05): asks the domain whom it names.
//!
//! Domains are strangers' input: no redirects (the NIP forbids following them), no proxy, only public addresses, one
//! answer of 64 KiB within a time limit.

mod answer;
mod identifiers;
mod resolver;

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, header};
use rustls::ClientConfig;
use tokio::time::timeout;
use usher_engine::ports::{Nip05, Nip05Answer};

use crate::guard::Trust;
use answer::MAX_ANSWER_BYTES;
pub(crate) use identifiers::Identifiers;
use resolver::GuardedResolver;

/// Why there is no client: shown once, at start.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client for NIP-05 cannot be made")]
pub struct ClientError(#[source] reqwest::Error);

/// Why a domain does not answer, for the log.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("ports of other services are not asked")]
    Port,
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    #[error("answered {0}")]
    Status(StatusCode),
    #[error("the answer is too large")]
    TooLarge,
    #[error("does not name it")]
    Unnamed,
    #[error("took too long")]
    TooSlow,
}

/// Asks domains.
#[derive(Clone, Debug)]
pub(crate) struct Domains {
    client: Client,
    within: Duration,
    allow_private: bool,
}

impl Domains {
    /// With `allow_private`, for development and closed networks, domains may be anywhere and may speak plain HTTP.
    pub(crate) fn new(tls: &ClientConfig, within: Duration, allow_private: bool) -> Result<Self, ClientError> {
        let trust = if allow_private { Trust::Operator } else { Trust::Stranger };
        let client = Client::builder()
            .use_preconfigured_tls(tls.clone())
            .https_only(!allow_private)
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(GuardedResolver { trust, within }))
            .connect_timeout(within)
            .timeout(within)
            .pool_max_idle_per_host(0)
            .user_agent("usher")
            .build()
            .map_err(ClientError)?;
        Ok(Self { client, within, allow_private })
    }

    /// Whom `identifier` names now; `None` for whatever reason it names nobody.
    pub(crate) async fn ask(&self, identifier: &Nip05) -> Option<Nip05Answer> {
        // The client's own time limits are for each step; this one is for all of it.
        let asking = timeout(self.within, self.try_ask(identifier));
        let answer = asking.await.unwrap_or(Err(AskError::TooSlow));
        answer.inspect_err(|error| tracing::debug!(%identifier, ?error, "a NIP-05 identifier is not confirmed")).ok()
    }

    async fn try_ask(&self, identifier: &Nip05) -> Result<Nip05Answer, AskError> {
        let port = identifier.domain().split_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        if !self.allow_private && port.is_some_and(|port| !matches!(port, 443 | 1024..)) {
            return Err(AskError::Port);
        }
        let body = match self.get("https", identifier).await {
            Err(AskError::Http(error)) if self.allow_private && error.is_connect() => {
                self.get("http", identifier).await
            }
            other => other,
        }?;
        answer::read(&body, identifier, self.allow_private).ok_or(AskError::Unnamed)
    }

    async fn get(&self, scheme: &str, identifier: &Nip05) -> Result<Vec<u8>, AskError> {
        // Neither part has a character that means something in a URL.
        let url = format!("{scheme}://{}/.well-known/nostr.json?name={}", identifier.domain(), identifier.name());
        let mut response = self.client.get(url).header(header::ACCEPT, "application/json").send().await?;
        if response.status() != StatusCode::OK {
            return Err(AskError::Status(response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(AskError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}
