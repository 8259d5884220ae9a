//! Requests to a provider: bounded in time and size, without redirects.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Method, Request, Response};
use usher_address_guard::AddressSource;
use usher_engine::ports::AgeVerifierError;
use usher_http_client::{Client, ClientOptions, Error, Pool};

/// Time limit of an exchange: the user's browser waits.
const WITHIN: Duration = Duration::from_secs(8);

/// Largest body of a response. Discovery documents and key sets have some kilobytes.
const MAX_BODY: usize = 256 * 1024;

/// Sends requests to one provider, chosen by the operator.
#[derive(Clone, Debug)]
pub(crate) struct Http(Client);

impl Http {
    pub(crate) fn new(tls: rustls::ClientConfig) -> Self {
        Self(Client::new(ClientOptions {
            pool: Some(Pool { connections: 4, idle: Duration::from_secs(30) }),
            ..ClientOptions::new(tls, AddressSource::Operator, WITHIN)
        }))
    }

    /// Sends a request. Errors contain no text of the provider.
    pub(crate) async fn send(
        &self,
        method: Method,
        uri: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response<Vec<u8>>, AgeVerifierError> {
        let mut request = Request::builder().method(method).uri(uri).header(USER_AGENT, "usher");
        if let Some(to) = request.headers_mut() {
            to.extend(headers);
            if !to.contains_key(ACCEPT) {
                to.insert(ACCEPT, http::HeaderValue::from_static("application/json"));
            }
        }
        let no_url = || AgeVerifierError::Invalid("its address is not a URL".to_owned());
        let request = request.body(Bytes::from(body)).map_err(|_| no_url())?;
        self.0.fetch(request, MAX_BODY).await.map_err(|error| match error {
            Error::Url => no_url(),
            Error::TimedOut => AgeVerifierError::Unreachable("it does not respond in time".to_owned()),
            Error::TooLarge => AgeVerifierError::Invalid("it is too large".to_owned()),
            error => AgeVerifierError::Unreachable(error.root_cause().to_string()),
        })
    }

    /// Sends a JSON body; the response must be 2xx with a JSON object.
    pub(crate) async fn json(
        &self,
        method: Method,
        uri: &str,
        mut headers: HeaderMap,
        body: Option<&serde_json::Value>,
    ) -> Result<serde_json::Value, AgeVerifierError> {
        if body.is_some() {
            headers.insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        }
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let response = self.send(method, uri, headers, body).await?;
        match response.status() {
            status if status.is_success() => serde_json::from_slice(response.body())
                .ok()
                .filter(serde_json::Value::is_object)
                .ok_or_else(|| AgeVerifierError::Invalid("it is not a JSON object".to_owned())),
            status if status.is_server_error() => Err(AgeVerifierError::Unreachable(format!("status {status}"))),
            status => Err(AgeVerifierError::Invalid(format!("status {status}"))),
        }
    }
}
