//! Fetches the prices of one source.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::Request;
use http::header::{ACCEPT, USER_AGENT};
use rust_decimal::Decimal;
use rustls::ClientConfig;
use usher_address_guard::AddressSource;
use usher_engine::ports::CurrencyCode;
use usher_http_client::{Client, ClientOptions};

use crate::price_reader::{self, PriceError};
use crate::source::RateSource;

/// Largest response: a document with all currencies has about 20 KB.
const MAX_BODY: usize = 256 * 1024;

/// Requests to one source at a time.
const CONCURRENT: usize = 4;

/// Why a source has no price. Contains neither the URL nor text of the source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceFailure {
    /// There is no complete response.
    #[error("{0}")]
    Http(String),
    /// It redirects; redirects are not followed.
    #[error("it redirects to another address, which is not followed")]
    Redirect,
    /// Its response has this error status.
    #[error("its response has the status {0}")]
    Status(u16),
    /// Its response has no price.
    #[error(transparent)]
    Price(#[from] PriceError),
}

pub(crate) struct Fetcher(Client);

impl Fetcher {
    /// Creates a client without connecting.
    pub(crate) fn new(tls: ClientConfig, timeout: Duration) -> Self {
        Self(Client::new(ClientOptions::new(tls, AddressSource::Operator, timeout)))
    }

    /// Sends `found` the price of each currency as soon as it is known. A document with several of them is fetched
    /// once.
    pub(crate) async fn fetch(
        &self,
        source: &RateSource,
        currencies: &[CurrencyCode],
        found: impl Fn(CurrencyCode, Result<Decimal, SourceFailure>),
    ) {
        let mut documents: BTreeMap<String, Vec<CurrencyCode>> = BTreeMap::new();
        for currency in currencies.iter().filter(|currency| source.offers(**currency)) {
            documents.entry(source.url(*currency)).or_default().push(*currency);
        }
        let found = &found;
        stream::iter(documents)
            .for_each_concurrent(CONCURRENT, |(url, currencies)| async move {
                let document = self.document(&url).await;
                for currency in currencies {
                    let price = document.as_ref().map_err(Clone::clone).and_then(|document| {
                        price_reader::read(document, &source.pointer(currency)).map_err(SourceFailure::Price)
                    });
                    found(currency, price);
                }
            })
            .await;
    }

    async fn document(&self, url: &str) -> Result<Vec<u8>, SourceFailure> {
        let request = Request::get(url).header(ACCEPT, "application/json").header(USER_AGENT, "usher");
        let request = request.body(Bytes::new()).map_err(|_| SourceFailure::Http("the URL is wrong".to_owned()))?;
        let response = self.0.fetch(request, MAX_BODY).await;
        let response = response.map_err(|error| SourceFailure::Http(error.to_string()))?;
        match response.status() {
            status if status.is_success() => Ok(response.into_body()),
            status if status.is_redirection() => Err(SourceFailure::Redirect),
            status => Err(SourceFailure::Status(status.as_u16())),
        }
    }
}
