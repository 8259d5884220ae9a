//! Checks whether the receiver is reachable: connects without sending a request, for `usher doctor`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;
use usher_address_guard::{AddressSource, GuardError, resolve};
use usher_http_client::tls_config;

/// Why the receiver is not reachable. Does not contain the URL, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The URL is not an http(s) URL with a host.
    #[error("it is not an http(s) URL")]
    Url,
    /// The host name has no address.
    #[error("the host name cannot be resolved: {0}")]
    Unresolved(#[source] io::Error),
    /// No address of the host accepts connections.
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    /// The TLS handshake failed, for example for an expired certificate.
    #[error("the TLS handshake failed: {0}")]
    Tls(#[source] io::Error),
    /// It timed out.
    #[error("no connection within {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// Resolves the host of `url`, connects and, for `https`, performs the TLS handshake. Sends no request.
pub async fn probe(url: &Url, limit: Duration) -> Result<(), ProbeError> {
    timeout(limit, reach(url, limit)).await.map_err(|_elapsed| ProbeError::TimedOut(limit))?
}

async fn reach(url: &Url, limit: Duration) -> Result<(), ProbeError> {
    let is_https = match url.scheme() {
        "https" => true,
        "http" => false,
        _ => return Err(ProbeError::Url),
    };
    let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else { return Err(ProbeError::Url) };
    let name = ServerName::try_from(host.to_string().trim_matches(['[', ']']).to_owned());
    let name = name.map_err(|_| ProbeError::Url)?;
    let addresses = resolve(host, port, AddressSource::Operator, limit).await.map_err(|error| match error {
        GuardError::Unresolved(error) => ProbeError::Unresolved(error),
        GuardError::TooSlow => ProbeError::TimedOut(limit),
        error => ProbeError::Connect(io::Error::other(error)),
    })?;
    let stream = TcpStream::connect(&*addresses).await.map_err(ProbeError::Connect)?;
    if is_https {
        let tls = tls_config(Vec::new()).map_err(|error| ProbeError::Tls(io::Error::other(error)))?;
        TlsConnector::from(Arc::new(tls)).connect(name, stream).await.map_err(ProbeError::Tls)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests spawn")]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    async fn listener() -> (TcpListener, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    fn url(text: String) -> Url {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn probe_connects_and_sends_nothing() {
        let (listener, port) = listener().await;
        let accepted = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut said = Vec::new();
            stream.read_to_end(&mut said).await.unwrap();
            said
        });
        probe(&url(format!("http://localhost:{port}/hook?key=x")), LIMIT).await.unwrap();
        assert!(accepted.await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn probe_errors_do_not_show_the_url() {
        let (closed, port) = listener().await;
        drop(closed);
        let refused = probe(&url(format!("http://127.0.0.1:{port}/s3cret")), LIMIT).await.unwrap_err();
        assert!(matches!(refused, ProbeError::Connect(_)), "{refused}");
        let nowhere = probe(&url("https://receiver.invalid/s3cret".to_owned()), LIMIT).await.unwrap_err();
        assert!(matches!(nowhere, ProbeError::Unresolved(_)), "{nowhere}");
        let (plain, port) = listener().await;
        let talking = tokio::spawn(async move {
            let (stream, _) = plain.accept().await.unwrap();
            stream.try_write(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            stream
        });
        let no_tls = probe(&url(format!("https://127.0.0.1:{port}/s3cret")), LIMIT).await.unwrap_err();
        assert!(matches!(no_tls, ProbeError::Tls(_)), "{no_tls}");
        drop(talking.await);
        let (silent, port) = listener().await;
        let slow =
            probe(&url(format!("https://127.0.0.1:{port}/s3cret")), Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(slow, ProbeError::TimedOut(_)), "{slow}");
        drop(silent);
        for error in [refused, nowhere, no_tls, slow] {
            let said = error.to_string();
            assert!(!said.contains("s3cret") && !said.contains("receiver.invalid"), "{said}");
        }
    }
}
