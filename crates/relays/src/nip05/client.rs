//! Fetches `/.well-known/nostr.json` from a domain.
//!
//! Users choose domains, so they are untrusted input: no redirects (NIP-05 forbids following them), no proxy, only
//! public addresses, one response of at most 64 KiB within a time limit.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http::{Request, StatusCode};
use rustls::ClientConfig;
use usher_engine::ports::{Nip05, Nip05Answer};
use usher_http_client::{Client, ClientOptions};

use super::well_known_document::{self, MAX_DOCUMENT_BYTES};
use usher_nostr_connection::address_guard::AddressSource;

/// Why a domain does not confirm an identifier, for the log.
#[derive(Debug, thiserror::Error)]
enum LookupError {
    #[error("the port belongs to another service")]
    Port,
    #[error(transparent)]
    Http(#[from] usher_http_client::Error),
    #[error("the identifier does not form a valid URI")]
    Uri(#[from] http::Error),
    #[error("response status {0}")]
    Status(StatusCode),
    #[error("the domain does not name it")]
    Unnamed,
}

#[derive(Clone, Debug)]
pub(crate) struct Nip05Client {
    client: Client,
    allow_private: bool,
}

impl Nip05Client {
    /// With `allow_private` (development and closed networks), domains may resolve to any address and use plain HTTP.
    pub(crate) fn new(tls: &ClientConfig, within: Duration, allow_private: bool) -> Self {
        let source = if allow_private { AddressSource::Operator } else { AddressSource::User };
        // Without a pool: a domain is queried at most once in ten minutes.
        let options = ClientOptions { https_only: !allow_private, ..ClientOptions::new(tls.clone(), source, within) };
        Self { client: Client::new(options), allow_private }
    }

    /// The key that `identifier` names now; `None` when it names none or the look-up fails.
    pub(crate) async fn look_up(&self, identifier: &Nip05) -> Option<Nip05Answer> {
        let answer = self.try_look_up(identifier).await;
        answer.inspect_err(|error| tracing::debug!(%identifier, ?error, "a NIP-05 identifier is not confirmed")).ok()
    }

    async fn try_look_up(&self, identifier: &Nip05) -> Result<Nip05Answer, LookupError> {
        let port = identifier.domain().split_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        if !self.allow_private && port.is_some_and(|port| !matches!(port, 443 | 1024..)) {
            return Err(LookupError::Port);
        }
        let body = match self.get("https", identifier).await {
            Err(LookupError::Http(error)) if self.allow_private && !error.may_be_sent() => {
                self.get("http", identifier).await
            }
            other => other,
        }?;
        well_known_document::read(&body, identifier, self.allow_private).ok_or(LookupError::Unnamed)
    }

    async fn get(&self, scheme: &str, identifier: &Nip05) -> Result<Vec<u8>, LookupError> {
        // Neither part contains URL syntax.
        let url = format!("{scheme}://{}/.well-known/nostr.json?name={}", identifier.domain(), identifier.name());
        let request =
            Request::get(url).header(ACCEPT, "application/json").header(USER_AGENT, "usher").body(Bytes::new())?;
        let response = self.client.fetch(request, MAX_DOCUMENT_BYTES).await?;
        if response.status() != StatusCode::OK {
            return Err(LookupError::Status(response.status()));
        }
        Ok(response.into_body())
    }
}
