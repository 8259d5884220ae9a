//! The options of the webhook.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

/// Where events are posted, how they are signed, and how long an exchange may take.
#[derive(Clone)]
pub struct WebhookOptions {
    /// The app's endpoint, `http` or `https`. The operator names it, so it is trusted: it may well be a private address.
    /// `user:password@` becomes an `Authorization` header.
    pub url: Url,
    /// What the bodies are signed with, the newest first; none: nothing is signed.
    ///
    /// `X-Service-Signature` is made with the first, `webhook-signature` with each, so that receivers can change over
    /// one by one. For `X-Service-Signature` the key is the text itself. For Standard Webhooks it is the decoded base64
    /// after `whsec_`, or the text itself without that prefix. Verifiers of Standard Webhooks accept only base64: give
    /// them `whsec_` and the base64 of the text.
    pub secrets: Vec<SecretString>,
    /// One deadline for the whole exchange: look-up, connection, TLS, request, and the head and body of the response.
    pub timeout: Duration,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// Certificates (PEM, one or more) trusted beside the public authorities, for an endpoint with a certificate of one's own.
    pub trusted_certificates: Option<Vec<u8>>,
}

impl WebhookOptions {
    /// Within the 15 to 30 s that Standard Webhooks recommends.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

    /// The usual options for this endpoint: unsigned, [`DEFAULT_TIMEOUT`](Self::DEFAULT_TIMEOUT), public authorities.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            secrets: Vec::new(),
            timeout: Self::DEFAULT_TIMEOUT,
            user_agent: concat!("Usher/", env!("CARGO_PKG_VERSION")).to_owned(),
            trusted_certificates: None,
        }
    }
}

impl fmt::Debug for WebhookOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookOptions")
            .field("origin", &origin(&self.url))
            .field("secrets", &self.secrets.len())
            .field("timeout", &self.timeout)
            .field("user_agent", &self.user_agent)
            .field("trusted_certificates", &self.trusted_certificates.is_some())
            .finish()
    }
}

/// The part of `url` that may be shown: scheme, host and port.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
