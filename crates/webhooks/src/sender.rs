//! Posts an event to the app's endpoint.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Request, Uri};
use parking_lot::RwLock;
use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::SecretString;
use tokio::time::timeout;
use url::Url;
use usher_address_guard::AddressSource;
use usher_engine::event::Event;
use usher_engine::ports::{Posted, WebhookSender};
use usher_engine::{StreamId, UnixMillis};
use usher_http_client::{Client, ClientOptions, Pool, Response, tls_config};

use crate::options::origin;
use crate::signing::Signer;
use crate::{WebhookError, WebhookOptions, failure_reason, message, retry_after};

/// How much of a response's body is read, which is required to reuse the connection.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// How long to wait for the rest of a response: its head has the result, and the stream's next event waits.
const PATIENCE_FOR_BODY: Duration = Duration::from_secs(1);

/// Connections kept for the next posts. Further concurrent posts open and close their own.
const IDLE_CONNECTIONS: usize = 128;

/// How long an idle connection is kept: less than the 5 s of common servers (Node, uvicorn).
const IDLE_TIME: Duration = Duration::from_secs(4);

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The app's webhook endpoint, over HTTP/1.1, without redirects, cookies or proxies of the environment. The caller
/// limits concurrent posts.
pub struct HttpWebhookSender {
    client: Client,
    uri: Uri,
    authorization: Option<HeaderValue>,
    origin: String,
    /// Replaced as a whole, so that each post is signed with one set of secrets.
    signer: RwLock<Arc<Signer>>,
    timeout: Duration,
}

impl HttpWebhookSender {
    /// A sender with these options. Neither connects nor resolves the host.
    ///
    /// # Errors
    /// [`WebhookError`]: invalid options.
    pub fn new(options: WebhookOptions) -> Result<Self, WebhookError> {
        let WebhookOptions { url, secrets, timeout, trusted_certificates } = options;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(WebhookError::Url);
        }
        if !(Duration::from_millis(1)..=A_DAY).contains(&timeout) {
            return Err(WebhookError::Timeout(timeout));
        }
        let signer = Signer::new(&secrets)?;
        let uri = uri_of(&url).ok_or(WebhookError::Url)?;
        let trusted = match trusted_certificates {
            Some(pem) => certificates(&pem)?,
            None => Vec::new(),
        };
        let tls = tls_config(trusted).map_err(WebhookError::Tls)?;
        let options = ClientOptions {
            // Half of the deadline, shared by the host's addresses, so that an unresponsive one leaves time for the
            // others.
            connect_timeout: timeout / 2,
            pool: Some(Pool { connections: IDLE_CONNECTIONS, idle: IDLE_TIME }),
            // The operator chose the host, whether a name or an address.
            ..ClientOptions::new(tls, AddressSource::Operator, timeout)
        };
        Ok(Self {
            client: Client::new(options),
            uri,
            authorization: authorization(&url),
            origin: origin(&url),
            signer: RwLock::new(Arc::new(signer)),
            timeout,
        })
    }

    /// Signs with these secrets from the next attempt on, newest first; unsigned without any.
    ///
    /// # Errors
    /// [`WebhookError::NotAKey`]; nothing is changed then.
    pub fn set_secrets(&self, secrets: &[SecretString]) -> Result<(), WebhookError> {
        let signer = Arc::new(Signer::new(secrets)?);
        *self.signer.write() = signer;
        Ok(())
    }

    /// When each secret was last used since it was [set](Self::set_secrets), newest secret first.
    pub fn last_uses(&self) -> Vec<Option<UnixMillis>> {
        self.signer.read().last_uses()
    }

    /// Posts a JSON text that is no event, in the same way. `id` is visible ASCII without a full stop, the same in each
    /// attempt.
    pub async fn post_message(&self, id: &str, body: String, now: UnixMillis) -> Posted {
        let answer = match self.request(id, body, now) {
            Ok(request) => {
                let sent = self.client.send(request).await;
                sent.map_err(|error| failure_reason::of_failure(&error, self.timeout))
            }
            // Only if the id cannot be in a header.
            Err(_) => Err("the request can't be made".to_owned()),
        };
        let response = match answer {
            Ok(response) => response,
            Err(reason) => return Posted::Refused { http_status: None, reason, retry_after: None },
        };
        let posted = outcome(&response, now);
        discard(response).await;
        posted
    }

    /// The request of one attempt; only the time and the signatures differ between attempts.
    fn request(&self, id: &str, body: String, now: UnixMillis) -> Result<Request<Bytes>, http::Error> {
        let timestamp = now.secs().to_string();
        let signer = Arc::clone(&self.signer.read());
        signer.note_use(now);
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "*/*")
            .header(USER_AGENT, concat!("Usher/", env!("CARGO_PKG_VERSION")))
            .header("x-service-event-id", id)
            .header("webhook-id", id)
            .header("webhook-timestamp", &timestamp);
        if let Some(signature) = signer.service_signature(body.as_bytes()) {
            request = request.header("x-service-signature", signature);
        }
        if let Some(signature) = signer.standard_signature(id, &timestamp, body.as_bytes()) {
            request = request.header("webhook-signature", signature);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        request.body(body.into())
    }
}

#[async_trait]
impl WebhookSender for HttpWebhookSender {
    async fn post(&self, stream: StreamId, event: &Event, now: UnixMillis) -> Posted {
        self.post_message(&message::id(stream, event), message::body(stream, event), now).await
    }
}

/// The result of a response, from its head alone: a receiver that breaks off after a 2xx has the event.
fn outcome(response: &Response, now: UnixMillis) -> Posted {
    let status = response.status();
    let http_status = status.as_u16();
    if status.is_success() {
        return Posted::Accepted { http_status };
    }
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| retry_after::parse(value.as_bytes(), now));
    Posted::Refused { http_status: Some(http_status), reason: failure_reason::of_status(status), retry_after }
}

/// Reads the body to reuse the connection, unless it is long or slow: then the connection is closed.
async fn discard(mut response: Response) {
    let mut read = 0;
    let _ = timeout(PATIENCE_FOR_BODY, async {
        while let Ok(Some(chunk)) = response.chunk().await {
            read += chunk.len();
            if read > MAX_BODY_BYTES {
                break;
            }
        }
    })
    .await;
}

fn uri_of(url: &Url) -> Option<Uri> {
    let mut url = url.clone();
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_fragment(None);
    url.as_str().parse().ok()
}

/// `user:password@` of the URL as a header (RFC 7617).
fn authorization(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let credentials = [&decoded(url.username()), &b":"[..], &decoded(url.password().unwrap_or_default())].concat();
    let mut header = HeaderValue::try_from(format!("Basic {}", BASE64.encode(credentials))).ok()?;
    header.set_sensitive(true);
    Some(header)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, WebhookError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.ok().filter(|certificates| !certificates.is_empty()).ok_or(WebhookError::Certificates)
}

impl fmt::Debug for HttpWebhookSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpWebhookSender")
            .field("origin", &self.origin)
            .field("secrets", &self.signer.read().len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
