//! One exchange with the app's endpoint.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::RwLock;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Request, Response};
use secrecy::SecretString;
use tokio::time::{Instant, timeout_at};
use url::Url;
use usher_engine::event::Event;
use usher_engine::ports::{Posted, Receiver};
use usher_engine::{StreamId, UnixMillis};

use crate::options::origin;
use crate::resolver::Resolver;
use crate::signing::Signer;
use crate::{WebhookError, WebhookOptions, message, reason, retry_after};

/// How much of an answer's body is read. Nobody needs it; but a connection can be used again only when its answer has been read, and
/// what people answer webhooks with ("ok", a small object, an error page) fits.
const LONGEST_BODY: usize = 16 * 1024;

/// How long the rest of an answer is waited for: after its head the outcome is known, and the next event of the stream is waiting.
const PATIENCE_FOR_BODY: Duration = Duration::from_secs(1);

/// Connections kept for the next post. More posts than this at once open more, and close them after.
const IDLE_CONNECTIONS: usize = 128;

/// How long a connection is kept unused: less than the 5 s after which common servers (Node, uvicorn) hang up, since a post on a
/// connection that is being closed fails.
const IDLE_TIME: Duration = Duration::from_secs(4);

/// The longest deadline that makes sense.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The app's webhook endpoint, over HTTP/1.1.
///
/// Redirects are not followed, cookies not kept, and proxies in the environment not used: the operator named the endpoint. How many posts run
/// at once is the caller's to bound.
pub struct WebhookReceiver {
    client: Client,
    url: Url,
    /// Replaced as a whole while posts run: each is signed with one state of it.
    signer: RwLock<Arc<Signer>>,
    timeout: Duration,
}

impl WebhookReceiver {
    /// A receiver of these options. Nothing is sent, nor is the host looked up.
    ///
    /// # Errors
    ///
    /// The options are wrong; see [`WebhookError`].
    pub fn new(options: WebhookOptions) -> Result<Self, WebhookError> {
        let WebhookOptions { url, secrets, timeout, user_agent, trusted_certificates } = options;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(WebhookError::Url);
        }
        if !(Duration::from_millis(1)..=A_DAY).contains(&timeout) {
            return Err(WebhookError::Timeout(timeout));
        }
        let signer = Signer::new(&secrets)?;
        let mut client = Client::builder()
            .user_agent(user_agent)
            .http1_only()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            // Other crates of the program may switch these features on for everybody.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .dns_resolver(Arc::new(Resolver::new()))
            // Half of the deadline, shared by the host's addresses: one that swallows packets leaves time for the others.
            .connect_timeout(timeout / 2)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .pool_idle_timeout(IDLE_TIME);
        if let Some(pem) = trusted_certificates {
            let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if certificates.is_empty() {
                return Err(WebhookError::Certificates);
            }
            client =
                certificates.into_iter().fold(client, |client, certificate| client.add_root_certificate(certificate));
        }
        let client = client.build().map_err(|error| WebhookError::Client(error.without_url()))?;
        Ok(Self { client, url, signer: RwLock::new(Arc::new(signer)), timeout })
    }

    /// Signs with these secrets from the next attempt on; the newest is the first, and none means unsigned.
    ///
    /// # Errors
    ///
    /// [`WebhookError::NotAKey`], and then nothing has changed.
    pub fn set_secrets(&self, secrets: &[SecretString]) -> Result<(), WebhookError> {
        let signer = Arc::new(Signer::new(secrets)?);
        *self.signer.write() = signer;
        Ok(())
    }

    /// The request for one attempt; all but the time and what is signed with it is the same each time.
    fn request(&self, stream: StreamId, event: &Event, now: UnixMillis) -> Result<Request, reqwest::Error> {
        let body = message::body(stream, event);
        let id = message::id(stream, event);
        let timestamp = now.secs().to_string();
        let signer = Arc::clone(&self.signer.read());
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("x-service-event-id", &id)
            .header("webhook-id", &id)
            .header("webhook-timestamp", &timestamp);
        if let Some(signature) = signer.service_signature(body.as_bytes()) {
            request = request.header("x-service-signature", signature);
        }
        if let Some(signature) = signer.standard_signature(&id, &timestamp, body.as_bytes()) {
            request = request.header("webhook-signature", signature);
        }
        request.body(body).build()
    }

    /// Sends the request and waits for the head of the answer.
    async fn answer(&self, request: Request, deadline: Instant) -> Result<Response, String> {
        match timeout_at(deadline, self.client.execute(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(reason::of_failure(&error)),
            Err(_) => Err(reason::of_silence(self.timeout)),
        }
    }
}

#[async_trait]
impl Receiver for WebhookReceiver {
    async fn post(&self, stream: StreamId, event: &Event, now: UnixMillis) -> Posted {
        let deadline = Instant::now() + self.timeout;
        let answer = match self.request(stream, event, now) {
            Ok(request) => self.answer(request, deadline).await,
            Err(error) => Err(reason::of_failure(&error)),
        };
        let response = match answer {
            Ok(response) => response,
            Err(reason) => return Posted::Refused { http_status: None, reason, retry_after: None },
        };
        let posted = outcome(&response, now);
        discard(response, deadline.min(Instant::now() + PATIENCE_FOR_BODY)).await;
        posted
    }
}

/// What the head of an answer says; the body does not change it. A receiver that says 2xx and then breaks off has the event.
fn outcome(response: &Response, now: UnixMillis) -> Posted {
    let status = response.status();
    let http_status = status.as_u16();
    if status.is_success() {
        return Posted::Accepted { http_status };
    }
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| retry_after::parse(value.as_bytes(), now));
    Posted::Refused { http_status: Some(http_status), reason: reason::of_status(status), retry_after }
}

/// Reads the body to its end so that the connection can be used again, unless it is long or slow: then the connection is closed.
async fn discard(mut response: Response, deadline: Instant) {
    let mut read = 0;
    let _ = timeout_at(deadline, async {
        while let Ok(Some(chunk)) = response.chunk().await {
            read += chunk.len();
            if read > LONGEST_BODY {
                break;
            }
        }
    })
    .await;
}

impl fmt::Debug for WebhookReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookReceiver")
            .field("origin", &origin(&self.url))
            .field("secrets", &self.signer.read().len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
