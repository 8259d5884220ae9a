//! The HTTP client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;

use crate::connector::{Connector, Resolve};

/// Longest head of a response, in bytes, and longest of any other part that is read as a whole.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// How connections are made and kept.
#[derive(Clone)]
pub struct ClientOptions {
    /// Which servers are trusted over TLS; see [`tls_config`](crate::tls_config).
    pub tls: ClientConfig,
    /// Whether `http://` is refused.
    pub https_only: bool,
    /// How long connecting may take, from resolving the host to the end of the TLS handshake.
    pub connect_timeout: Duration,
    /// Which connections are kept for later requests; `None` keeps none.
    pub pool: Option<Pool>,
}

/// Which connections are kept for later requests.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// Most connections per host.
    pub connections: usize,
    /// For how long.
    pub idle: Duration,
}

/// Sends requests over HTTP/1.1. Cheap to clone: clones share their connections.
#[derive(Clone)]
pub struct Client(legacy::Client<Connector, Full<Bytes>>);

impl Client {
    /// A client. Sends nothing and resolves nothing yet.
    pub fn new(options: ClientOptions, resolver: Arc<dyn Resolve>) -> Self {
        let ClientOptions { tls, https_only, connect_timeout, pool } = options;
        let pool = pool.unwrap_or(Pool { connections: 0, idle: Duration::ZERO });
        let client = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(pool.connections)
            .pool_idle_timeout(pool.idle)
            .http1_max_buf_size(MAX_HEAD_BYTES)
            .build(Connector::new(tls, https_only, connect_timeout, resolver));
        Self(client)
    }

    /// Sends a request with an absolute URI and returns when the head of the final response has arrived. Adds `Host`.
    ///
    /// Sends it once: it is sent again only when a connection turned out to be closed before any of the request was
    /// written.
    ///
    /// # Errors
    /// When there is no readable response. The sources of the error tell why; none of them names the URI or quotes the
    /// server.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, legacy::Error> {
        self.0.request(request).await
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
