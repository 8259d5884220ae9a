use std::time::Duration;

/// The options of a webhook receiver are wrong; the words hold neither the URL nor a secret.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL is of another kind.
    #[error("the webhook's URL must start with http:// or https:// and name a host")]
    Url,
    /// A secret is empty, so that anybody could sign with it, or `whsec_` is not followed by the base64 of a key.
    #[error(
        "webhook secret {position} is not a key: it is empty, or starts with whsec_ and does not go on with base64"
    )]
    NotAKey {
        /// Which, from 1 (the newest).
        position: usize,
    },
    /// There is no time for an exchange, or more than a day.
    #[error("the webhook's time-out of {0:?} is not between a millisecond and a day")]
    Timeout(Duration),
    /// The `User-Agent` holds what a header cannot.
    #[error("the webhook's user agent is not the value of a header")]
    UserAgent,
    /// Certificates to trust are given, but none is there in PEM form.
    #[error("the webhook's trusted certificates are not in PEM form")]
    Certificates,
    /// TLS cannot be used, or a certificate to trust cannot.
    #[error("the webhook's TLS can't be set up")]
    Tls(#[source] rustls::Error),
}
