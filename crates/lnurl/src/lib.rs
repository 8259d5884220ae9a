//! Invoices of Lightning addresses (LUD-16), over LNURL-pay (LUD-06): the engine's port [`Payees`].
//!
//! Users name the addresses, so every connection goes through the [guard](usher_address_guard), and both requests together are
//! bounded in time and size.

#[cfg(test)]
mod hostile_server_tests;
mod lightning_address;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http::{Method, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;
use usher_address_guard::AddressSource;
use usher_engine::ports::{PayeeError, Payees};
use usher_http_client::{Client, ClientOptions};

/// How long both requests may take together: a user's browser waits.
const WITHIN: Duration = Duration::from_secs(10);

/// Largest response: the metadata may hold a picture.
const MAX_BODY: usize = 256 * 1024;

/// Addresses that are asked at a time; beyond that users try again.
const AT_ONCE: usize = 16;

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
    asking: Semaphore,
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
        Self { http, allow_private, asking: Semaphore::new(AT_ONCE) }
    }

    async fn ask(&self, address: &Url, amount: u64) -> Result<String, PayeeError> {
        let offer: PayRequest = self.get(address).await?;
        if offer.tag != "payRequest" {
            return Err(PayeeError::Unavailable);
        }
        if amount < offer.min_sendable || amount > offer.max_sendable {
            return Err(PayeeError::Amount);
        }
        let mut callback = Url::parse(&offer.callback).map_err(|_| PayeeError::Unavailable)?;
        callback.query_pairs_mut().append_pair("amount", &amount.to_string());
        let made: Made = self.get(&callback).await?;
        Ok(made.pr)
    }

    /// An answer `{"status": "ERROR", …}` is not of the wanted form, whatever its HTTP status.
    async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, PayeeError> {
        let request = Request::builder()
            .method(Method::GET)
            .uri(url.as_str())
            .header(USER_AGENT, "usher")
            .header(ACCEPT, "application/json")
            .body(Bytes::new())
            .map_err(|_| PayeeError::Unavailable)?;
        let response = self.http.fetch(request, MAX_BODY).await.map_err(|_| PayeeError::Unavailable)?;
        serde_json::from_slice(response.body()).map_err(|_| PayeeError::Unavailable)
    }
}

#[async_trait]
impl Payees for LnurlPayees {
    async fn invoice(&self, address: &str, amount: u64) -> Result<String, PayeeError> {
        let address = lightning_address::url(address, self.allow_private).ok_or(PayeeError::NoAddress)?;
        let _turn = self.asking.try_acquire().map_err(|_| PayeeError::Unavailable)?;
        timeout(WITHIN, self.ask(&address, amount)).await.map_err(|_| PayeeError::Unavailable)?
    }
}

/// What an address accepts (LUD-06, the first response). Amounts are millisats.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PayRequest {
    tag: String,
    callback: String,
    min_sendable: u64,
    max_sendable: u64,
}

/// The second response.
#[derive(Deserialize)]
struct Made {
    pr: String,
}
