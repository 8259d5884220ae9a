use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use url::{Host, Url};
use usher_address_guard::{AddressSource, GuardError, is_public};

use crate::Error;
use crate::guarded_resolver::GuardedResolver;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Options of the client.
#[derive(Clone)]
pub struct ClientOptions {
    /// The TLS configuration; see [`tls_config`](crate::tls_config).
    pub tls: ClientConfig,
    /// Who chose the hosts.
    pub source: AddressSource,
    /// Whether `http://` is refused.
    pub https_only: bool,
    /// Time limit of an exchange, from resolving the host to the end of the body.
    pub timeout: Duration,
    /// Time limit of connecting, from resolving the host to the end of the TLS handshake.
    pub connect_timeout: Duration,
    /// Reuse of connections; `None` disables it.
    pub pool: Option<Pool>,
}

impl ClientOptions {
    /// Also for `http://`, without reuse of connections; connecting may take all of the time.
    pub const fn new(tls: ClientConfig, source: AddressSource, timeout: Duration) -> Self {
        Self { tls, source, https_only: false, timeout, connect_timeout: timeout, pool: None }
    }
}

/// Limits of reused connections.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// Most connections per host.
    pub connections: usize,
    /// How long an idle connection is kept.
    pub idle: Duration,
}

/// Sends requests over HTTP/1.1. Cheap to clone: clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Option<reqwest::Client>,
    source: AddressSource,
}

impl Client {
    /// Creates a client without connecting.
    pub fn new(options: ClientOptions) -> Self {
        let ClientOptions { mut tls, source, https_only, timeout, connect_timeout, pool } = options;
        let pool = pool.unwrap_or(Pool { connections: 0, idle: Duration::ZERO });
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let built = reqwest::Client::builder()
            .use_preconfigured_tls(tls)
            .dns_resolver(Arc::new(GuardedResolver::new(source, connect_timeout)))
            .https_only(https_only)
            .http1_only()
            .timeout(timeout)
            .connect_timeout(connect_timeout)
            .pool_max_idle_per_host(pool.connections)
            .pool_idle_timeout(pool.idle)
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            // Another crate may enable these features of the library.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .build();
        Self { inner: built.ok(), source }
    }

    /// Sends a request with an absolute URI once, with `Host` added; returns when the head of the final response has arrived.
    /// hyper-util resends it only if a kept connection was closed before any of it was written.
    ///
    /// # Errors
    /// When no valid response head is received.
    pub async fn send(&self, request: Request<Bytes>) -> Result<reqwest::Response, Error> {
        let request = reqwest::Request::try_from(request).map_err(|_| Error::Url)?;
        self.check_literal(request.url())?;
        let client = self.inner.as_ref().ok_or(Error::Setup)?;
        client.execute(request).await.map_err(Error::of_request)
    }

    /// Sends a request as [`send`](Self::send) does, and reads a body of at most `max_body` bytes. Removes the byte order mark
    /// that some servers put in front of JSON.
    ///
    /// # Errors
    /// When no complete response of at most that size is received.
    pub async fn fetch(&self, request: Request<Bytes>, max_body: usize) -> Result<Response<Vec<u8>>, Error> {
        let mut response = self.send(request).await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(Error::of_body)? {
            if body.len() + chunk.len() > max_body {
                return Err(Error::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        if body.starts_with(BYTE_ORDER_MARK) {
            body.drain(..BYTE_ORDER_MARK.len());
        }
        let mut whole = Response::new(body);
        *whole.status_mut() = response.status();
        *whole.headers_mut() = std::mem::take(response.headers_mut());
        Ok(whole)
    }

    /// Checks an IP address in the URL: `reqwest` does not pass it to the resolver.
    fn check_literal(&self, url: &Url) -> Result<(), Error> {
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
            Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
            Some(Host::Domain(_)) => return Ok(()),
            None => return Err(Error::Url),
        };
        if self.source == AddressSource::User && !is_public(ip) {
            return Err(Error::Address(GuardError::NotPublic));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests spawn")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::tls_config;

    const LONG: Duration = Duration::from_secs(60);

    fn client(source: AddressSource, timeout: Duration) -> Client {
        let tls = tls_config(Vec::new()).unwrap();
        let pool = Some(Pool { connections: 4, idle: LONG });
        Client::new(ClientOptions { pool, ..ClientOptions::new(tls, source, timeout) })
    }

    fn get(url: &str) -> Request<Bytes> {
        Request::get(url).body(Bytes::new()).unwrap()
    }

    async fn read_request(stream: &mut TcpStream) -> bool {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if !stream.read_buf(&mut head).await.is_ok_and(|read| read > 0) {
                return false;
            }
        }
        true
    }

    /// A server that sends `head` after each request, then `again` until the connection closes; returns the URL and a counter
    /// of requests.
    async fn server(head: &'static str, again: &'static str) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/s3cret", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let requests = Arc::clone(&counter);
                tokio::spawn(async move {
                    while read_request(&mut stream).await {
                        requests.fetch_add(1, Ordering::SeqCst);
                        stream.write_all(head.as_bytes()).await.unwrap();
                        while !again.is_empty() && stream.write_all(again.repeat(1000).as_bytes()).await.is_ok() {}
                    }
                });
            }
        });
        (url, requests)
    }

    #[tokio::test]
    async fn private_addresses_are_refused_however_they_are_written() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = client(AddressSource::User, LONG);
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0x7f.0.0.1",
            "0x7f000001",
            "0X7F.0x0.0x0.0x1",
            "2130706433",
            "0177.0.0.1",
            "017700000001",
            "127.0x1",
            "127.0.0.1.",
            "127.255.255.254",
            "0.0.0.0",
            "0",
            "localhost",
            "LOCALHOST",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.0.1",
            "3232235521",
            "169.254.169.254",
            "0xa9fea9fe",
            "100.64.0.1",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[fe80::1]",
            "[fd00::1]",
        ] {
            let error = client.send(get(&format!("http://{host}:{port}/"))).await.unwrap_err();
            assert!(matches!(error.guard(), Some(GuardError::NotPublic)), "{host}: {error:?}");
            assert!(!error.may_be_sent());
        }
        let connected = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(connected.is_err(), "a connection was made");
    }

    #[tokio::test]
    async fn operators_addresses_may_be_private() {
        let (url, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "").await;
        let client = client(AddressSource::Operator, LONG);
        for host in ["127.0.0.1", "localhost", "0x7f.1"] {
            let response = client.fetch(get(&url.replace("127.0.0.1", host)), 2).await.unwrap();
            assert_eq!((response.status().as_u16(), response.body().as_slice()), (200, &b"ok"[..]), "{host}");
        }
        let error = client.fetch(get(&url), 1).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge), "{error:?}");
    }

    #[tokio::test]
    async fn a_byte_order_mark_is_left_out() {
        let (url, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n\u{feff}{}", "").await;
        let response = client(AddressSource::Operator, LONG).fetch(get(&url), 5).await.unwrap();
        assert_eq!(response.body(), b"{}");
    }

    #[tokio::test]
    async fn endless_responses_end_at_the_deadline_or_the_limit() {
        let client = client(AddressSource::Operator, Duration::from_secs(2));
        for again in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"] {
            let (url, _) = server("", again).await;
            let error = client.fetch(get(&url), 10).await.unwrap_err();
            assert!(matches!(error, Error::TimedOut), "{error:?}");
        }
        let (url, _) = server("HTTP/1.1 200 OK\r\n\r\n", "x").await;
        let error = client.fetch(get(&url), 100_000).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge), "{error:?}");
        let (url, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", "").await;
        let error = client.fetch(get(&url), 100).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut), "{error:?}");
    }

    #[tokio::test]
    async fn redirects_are_not_followed() {
        let (elsewhere, asked) = server("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "").await;
        for status in [301, 302, 303, 307, 308] {
            let head = format!("HTTP/1.1 {status} Moved\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n");
            let (url, _) = server(head.leak(), "").await;
            let response = client(AddressSource::Operator, LONG).fetch(get(&url), 0).await.unwrap();
            assert_eq!(response.status().as_u16(), status);
        }
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn errors_do_not_show_the_url() {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nobody = format!("http://{}/s3cret", closed.local_addr().unwrap());
        drop(closed);
        let (garbage, _) = server("s3cret\r\n\r\n", "").await;
        let (broken, _) = server("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\ns3cret\r\n", "").await;
        let client = client(AddressSource::Operator, LONG);
        for (url, sent) in
            [(nobody, false), ("http://s3cret.invalid/".to_owned(), false), (garbage, true), (broken, true)]
        {
            let error = client.fetch(get(&url), 100).await.unwrap_err();
            assert_eq!(error.may_be_sent(), sent, "{error:?}");
            let shown = error.causes().map(|cause| format!("{cause} {cause:?}")).collect::<String>();
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }

    /// A request that the server has read over a kept connection is not resent.
    #[tokio::test]
    async fn request_is_sent_once_over_a_kept_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(read_request(&mut stream).await);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            assert!(read_request(&mut stream).await);
            drop(stream);
            tokio::time::timeout(Duration::from_millis(200), listener.accept()).await.is_err()
        });
        let client = client(AddressSource::Operator, LONG);
        client.fetch(get(&url), 0).await.unwrap();
        let error = client.fetch(get(&url), 0).await.unwrap_err();
        assert!(matches!(error, Error::Exchange(_)), "{error:?}");
        assert!(serving.await.unwrap(), "it was sent again");
    }
}
