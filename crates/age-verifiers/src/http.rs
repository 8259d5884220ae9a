//! Requests to a provider: bounded in time and size, without redirects.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use tokio::time::timeout;
use usher_address_guard::Trust;
use usher_engine::ports::AgeVerifierError;
use usher_http_client::{Client, ClientOptions, GuardedResolver, Pool};

/// How long a whole exchange may take: the user's browser waits.
const WITHIN: Duration = Duration::from_secs(8);

/// Largest body of a response. Discovery documents and key sets have some kilobytes.
const MAX_BODY: usize = 256 * 1024;

/// Sends requests to one provider, which the operator has chosen.
#[derive(Clone, Debug)]
pub(crate) struct Http(Client);

/// A response that was read as a whole.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Http {
    pub(crate) fn new(tls: rustls::ClientConfig) -> Self {
        let options = ClientOptions {
            tls,
            https_only: false,
            connect_timeout: WITHIN,
            pool: Some(Pool { connections: 4, idle: Duration::from_secs(30) }),
        };
        let resolver = GuardedResolver { trust: Trust::Operator, within: WITHIN };
        Self(Client::new(options, std::sync::Arc::new(resolver)))
    }

    /// Sends a request. The errors say nothing that the provider has said.
    pub(crate) async fn send(
        &self,
        method: Method,
        uri: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, AgeVerifierError> {
        let mut request = Request::builder().method(method).uri(uri).header(USER_AGENT, "usher");
        if let Some(to) = request.headers_mut() {
            to.extend(headers);
            if !to.contains_key(ACCEPT) {
                to.insert(ACCEPT, http::HeaderValue::from_static("application/json"));
            }
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|_| AgeVerifierError::Invalid("its address is not a URL".to_owned()))?;
        let exchange = async {
            let response = self.0.send(request).await.map_err(|error| unreachable(&error))?;
            let (head, mut incoming) = response.into_parts();
            let mut body = Vec::new();
            while let Some(frame) = incoming.frame().await {
                let frame = frame.map_err(|error| unreachable(&error))?;
                let chunk = frame.data_ref().map(Bytes::as_ref).unwrap_or_default();
                if body.len() + chunk.len() > MAX_BODY {
                    return Err(AgeVerifierError::Invalid("it is too large".to_owned()));
                }
                body.extend_from_slice(chunk);
            }
            Ok(Response { status: head.status, headers: head.headers, body })
        };
        timeout(WITHIN, exchange)
            .await
            .unwrap_or_else(|_| Err(AgeVerifierError::Unreachable("it does not respond in time".to_owned())))
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
        match response.status {
            status if status.is_success() => serde_json::from_slice(&response.body)
                .ok()
                .filter(serde_json::Value::is_object)
                .ok_or_else(|| AgeVerifierError::Invalid("it is not a JSON object".to_owned())),
            status if status.is_server_error() => Err(AgeVerifierError::Unreachable(format!("status {status}"))),
            status => Err(AgeVerifierError::Invalid(format!("status {status}"))),
        }
    }
}

/// The innermost cause: the errors of the client neither name the URI nor quote the server.
fn unreachable(error: &dyn std::error::Error) -> AgeVerifierError {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    AgeVerifierError::Unreachable(cause.to_string())
}
