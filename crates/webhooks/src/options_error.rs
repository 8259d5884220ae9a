use std::time::Duration;

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
    /// The `User-Agent` is not a valid header value.
    #[error("the webhook's user agent is not the value of a header")]
    UserAgent,
    /// The trusted certificates contain none in PEM form.
    #[error("the webhook's trusted certificates are not in PEM form")]
    Certificates,
    /// TLS, or a trusted certificate, cannot be used.
    #[error("the webhook's TLS can't be set up")]
    Tls(#[source] rustls::Error),
}
