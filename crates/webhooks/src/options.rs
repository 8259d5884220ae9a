use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

/// Options of the webhook.
#[derive(Clone)]
pub struct WebhookOptions {
    /// The endpoint, `http` or `https`; it may be private. `user:password@` becomes an `Authorization` header.
    pub url: Url,
    /// The signing secrets, newest first; without any, posts are unsigned. `X-Service-Signature` uses the first,
    /// `webhook-signature` all of them, so that receivers can switch one by one.
    ///
    /// The key of `X-Service-Signature` is the text itself. That of Standard Webhooks is the decoded base64 after
    /// `whsec_`, or the text itself without that prefix, although its verifiers accept only base64.
    pub secrets: Vec<SecretString>,
    /// One deadline for the whole exchange: look-up, connection, TLS, request, and the head and body of the response.
    pub timeout: Duration,
    /// Certificates (PEM, one or more) trusted in addition to the public authorities, for an endpoint with a private
    /// certificate.
    pub trusted_certificates: Option<Vec<u8>>,
}

/// Invalid options of a webhook receiver. Contains neither the URL nor a secret.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL is not `http` or `https`, or has no host.
    #[error("the webhook's URL must start with http:// or https:// and name a host")]
    Url,
    /// A secret is empty, so that anybody could sign with it, or `whsec_` is not followed by the base64 of a key.
    #[error(
        "webhook secret {position} is not a key: it is empty, or starts with whsec_ and does not go on with base64"
    )]
    NotAKey {
        /// Its position, from 1 (the newest).
        position: usize,
    },
    /// The timeout is zero or longer than a day.
    #[error("the webhook's time-out of {0:?} is not between a millisecond and a day")]
    Timeout(Duration),
    /// The trusted certificates contain none in PEM form.
    #[error("the webhook's trusted certificates are not in PEM form")]
    Certificates,
    /// TLS, or a trusted certificate, cannot be used.
    #[error("the webhook's TLS can't be set up")]
    Tls(#[source] rustls::Error),
}

impl WebhookOptions {
    /// Within the 15 to 30 s that Standard Webhooks recommends.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

    /// The default options for this endpoint: unsigned, [`DEFAULT_TIMEOUT`](Self::DEFAULT_TIMEOUT), public authorities.
    pub fn new(url: Url) -> Self {
        Self { url, secrets: Vec::new(), timeout: Self::DEFAULT_TIMEOUT, trusted_certificates: None }
    }
}

impl fmt::Debug for WebhookOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookOptions")
            .field("origin", &origin(&self.url))
            .field("secrets", &self.secrets.len())
            .field("timeout", &self.timeout)
            .field("trusted_certificates", &self.trusted_certificates.is_some())
            .finish()
    }
}

/// The printable part of `url`: scheme, host and port.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
