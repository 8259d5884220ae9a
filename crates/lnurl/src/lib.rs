//! Invoices of Lightning addresses (LUD-16) and LNURLs (LUD-01), over LNURL-pay (LUD-06): the engine's port [`Payees`].
//!
//! Users name the addresses, so every connection goes through the [guard](usher_address_guard), that to which a redirect leads as
//! well, and all requests together are bounded in time and size.

#[cfg(test)]
mod hostile_server_tests;
mod lightning_address;
mod loose_number;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, LOCATION, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;
use usher_address_guard::AddressSource;
use usher_engine::ports::{PayeeError, Payees};
use usher_http_client::{Client, ClientOptions};
use usher_protocol::lnurl;

/// How long all requests may take together: a user's browser waits.
const WITHIN: Duration = Duration::from_secs(10);

/// Largest response: the metadata may hold a picture.
const MAX_BODY: usize = 256 * 1024;

/// Redirects of one request that are followed: domains lend their names to the servers of wallets.
const MAX_REDIRECTS: usize = 3;

/// How addresses are asked.
pub struct PayeeOptions {
    /// Which servers are trusted.
    pub tls: rustls::ClientConfig,
    /// Whether addresses may lead to this machine's own network, over `http` as well (`nostr.allow_private_relays`): for development.
    pub allow_private: bool,
}

/// Asks the servers of Lightning addresses.
pub struct LnurlPayees {
    http: Client,
    allow_private: bool,
}

impl LnurlPayees {
    /// Sends nothing yet.
    pub fn new(options: PayeeOptions) -> Self {
        let PayeeOptions { tls, allow_private } = options;
        let http = Client::new(ClientOptions {
            tls,
            source: if allow_private { AddressSource::Operator } else { AddressSource::User },
            https_only: !allow_private,
            timeout: WITHIN,
            connect_timeout: WITHIN,
            pool: None,
        });
        Self { http, allow_private }
    }

    async fn ask(&self, address: &Url, amount: u64) -> Result<String, PayeeError> {
        let (offer, address): (PayRequest, Url) = self.get(address.clone()).await?;
        if offer.tag != "payRequest" {
            return Err(PayeeError::Unavailable);
        }
        if amount < offer.min_sendable || amount > offer.max_sendable {
            return Err(PayeeError::Amount);
        }
        // Some servers name the path alone.
        let mut callback = address.join(&offer.callback).map_err(|_| PayeeError::Unavailable)?;
        callback.query_pairs_mut().append_pair("amount", &amount.to_string());
        let (made, _): (Made, Url) = self.get(callback).await?;
        Ok(made.pr)
    }

    /// The answer, and from where it came.
    async fn get<T: DeserializeOwned>(&self, mut url: Url) -> Result<(T, Url), PayeeError> {
        for _ in 0..=MAX_REDIRECTS {
            let request = Request::builder()
                .method(Method::GET)
                .uri(url.as_str())
                .header(USER_AGENT, "usher")
                .header(ACCEPT, "application/json")
                .body(Bytes::new())
                .map_err(|_| PayeeError::Unavailable)?;
            let response = self.http.fetch(request, MAX_BODY).await.map_err(|_| PayeeError::Unavailable)?;
            if !response.status().is_redirection() {
                if is_refusal(&response) {
                    return Err(PayeeError::Refused);
                }
                let answer = serde_json::from_slice(response.body()).map_err(|_| PayeeError::Unavailable)?;
                return Ok((answer, url));
            }
            let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            url = location.and_then(|location| url.join(location).ok()).ok_or(PayeeError::Unavailable)?;
        }
        Err(PayeeError::Unavailable)
    }
}

/// Whether the server says that there is nothing, or `{"status": "ERROR", …}`, whatever its HTTP status.
fn is_refusal(response: &Response<Vec<u8>>) -> bool {
    let says_error = |answer: Value| answer.get("status")?.as_str().map(|status| status.eq_ignore_ascii_case("error"));
    matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::GONE)
        || serde_json::from_slice(response.body()).ok().and_then(says_error).unwrap_or_default()
}

#[async_trait]
impl Payees for LnurlPayees {
    async fn invoice(&self, address: &str, amount: u64) -> Result<String, PayeeError> {
        let url = || lnurl::decode(address).and_then(|url| Url::parse(&url).ok());
        let address = lightning_address::url(address, self.allow_private).or_else(url).ok_or(PayeeError::NoAddress)?;
        timeout(WITHIN, self.ask(&address, amount)).await.map_err(|_| PayeeError::Unavailable)?
    }
}

/// What an address accepts (LUD-06, the first response). Amounts are millisats.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PayRequest {
    tag: String,
    callback: String,
    #[serde(deserialize_with = "loose_number::rounded_up")]
    min_sendable: u64,
    #[serde(deserialize_with = "loose_number::rounded_down")]
    max_sendable: u64,
}

/// The second response.
#[derive(Deserialize)]
struct Made {
    pr: String,
}
