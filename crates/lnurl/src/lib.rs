//! Gets invoices from Lightning addresses (LUD-16) and LNURLs (LUD-01) over LNURL-pay (LUD-06): the engine's port [`Payees`].
//!
//! Users choose the addresses, so every connection, including those of redirects, goes through the
//! [guard](usher_address_guard), and the requests are bounded in total time and in size.

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

/// Time limit of all requests for one invoice: a user's browser waits.
const WITHIN: Duration = Duration::from_secs(10);

/// Largest response, in bytes: the metadata may contain an image.
const MAX_BODY: usize = 256 * 1024;

/// Redirects followed per request: domains redirect Lightning addresses to the servers of wallets.
const MAX_REDIRECTS: usize = 3;

/// Options of [`LnurlPayees`].
pub struct PayeeOptions {
    /// Which servers are trusted over TLS.
    pub tls: rustls::ClientConfig,
    /// Allows private addresses and `http`, for development (`nostr.allow_private_relays`).
    pub allow_private: bool,
}

/// A client of LNURL-pay servers.
pub struct LnurlPayees {
    http: Client,
    allow_private: bool,
}

impl LnurlPayees {
    /// Creates a client without connecting.
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

    async fn request_invoice(&self, address: &Url, amount: u64) -> Result<String, PayeeError> {
        let (offer, address): (PayRequest, Url) = self.get(address.clone()).await?;
        if offer.tag != "payRequest" {
            return Err(PayeeError::Unavailable);
        }
        if amount < offer.min_sendable || amount > offer.max_sendable {
            return Err(PayeeError::Amount);
        }
        // Some servers send only the path.
        let mut callback = address.join(&offer.callback).map_err(|_| PayeeError::Unavailable)?;
        callback.query_pairs_mut().append_pair("amount", &amount.to_string());
        let (invoice, _): (InvoiceResponse, Url) = self.get(callback).await?;
        Ok(invoice.pr)
    }

    /// The response and its URL, which differs from `url` after redirects.
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
                let body = serde_json::from_slice(response.body()).map_err(|_| PayeeError::Unavailable)?;
                return Ok((body, url));
            }
            let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            url = location.and_then(|location| url.join(location).ok()).ok_or(PayeeError::Unavailable)?;
        }
        Err(PayeeError::Unavailable)
    }
}

/// Whether the status is 404 or 410, or the body is `{"status": "ERROR", …}` with any status.
fn is_refusal(response: &Response<Vec<u8>>) -> bool {
    let is_error = |body: Value| body.get("status")?.as_str().map(|status| status.eq_ignore_ascii_case("error"));
    matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::GONE)
        || serde_json::from_slice(response.body()).ok().and_then(is_error).unwrap_or_default()
}

#[async_trait]
impl Payees for LnurlPayees {
    async fn invoice(&self, address: &str, amount: u64) -> Result<String, PayeeError> {
        let url = || lnurl::decode(address).and_then(|url| Url::parse(&url).ok());
        let address = lightning_address::url(address, self.allow_private).or_else(url).ok_or(PayeeError::NoAddress)?;
        timeout(WITHIN, self.request_invoice(&address, amount)).await.map_err(|_| PayeeError::Unavailable)?
    }
}

/// The first response of LUD-06. Amounts are in millisats.
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

/// The second response of LUD-06.
#[derive(Deserialize)]
struct InvoiceResponse {
    pr: String,
}
