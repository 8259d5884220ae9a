//! Makes connections: to which address, and within what time.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tower::Service;
use url::Host;

use crate::bounded_stream::{BoundedStream, Socket};

/// Any error.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Resolves hosts. Every connection goes to an address that was returned here.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of `host` with this port. IP addresses are resolved too, and may be refused.
    fn resolve(&self, host: Host<String>, port: u16) -> BoxFuture<'static, Result<Vec<SocketAddr>, BoxError>>;
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URI is not `http` or `https` (or not `https`, where only that is allowed), or has no host.
    #[error("the URI cannot be connected to")]
    Uri,
    /// The host has no usable address.
    #[error("the host has no address")]
    Resolve(#[source] BoxError),
    /// No address accepted the connection; this is the error of the last one.
    #[error("no address accepted the connection")]
    Connect(#[source] io::Error),
    /// The TLS handshake failed.
    #[error("the TLS handshake failed")]
    Tls(#[source] io::Error),
    /// It took too long.
    #[error("the connection took too long")]
    Timeout,
}

/// Makes connections.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Parts>);

struct Parts {
    tls: TlsConnector,
    https_only: bool,
    timeout: Duration,
    resolver: Arc<dyn Resolve>,
}

impl Connector {
    pub(crate) fn new(mut tls: ClientConfig, https_only: bool, timeout: Duration, resolver: Arc<dyn Resolve>) -> Self {
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self(Arc::new(Parts { tls: TlsConnector::from(Arc::new(tls)), https_only, timeout, resolver }))
    }
}

impl Parts {
    async fn connect(&self, uri: &Uri) -> Result<BoundedStream, ConnectError> {
        let deadline = Instant::now() + self.timeout;
        let connecting = async {
            let (is_tls, host, port) = self.target(uri).ok_or(ConnectError::Uri)?;
            let addresses = self.resolver.resolve(host.clone(), port).await.map_err(ConnectError::Resolve)?;
            let socket = dial(&addresses, deadline).await.map_err(ConnectError::Connect)?;
            // Requests are small and complete, so Nagle's algorithm would only delay them. Not worth failing for.
            let _ = socket.set_nodelay(true);
            if !is_tls {
                return Ok(BoundedStream::new(Socket::Plain(socket)));
            }
            let name = server_name(host).ok_or(ConnectError::Uri)?;
            let secured = self.tls.connect(name, socket).await.map_err(ConnectError::Tls)?;
            Ok(BoundedStream::new(Socket::Tls(Box::new(secured))))
        };
        timeout_at(deadline, connecting).await.unwrap_or(Err(ConnectError::Timeout))
    }

    /// Whether to use TLS, the host, the port.
    fn target(&self, uri: &Uri) -> Option<(bool, Host<String>, u16)> {
        let is_tls = match uri.scheme_str()? {
            "https" => true,
            "http" if !self.https_only => false,
            _ => return None,
        };
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Some((is_tls, Host::parse(uri.host()?).ok()?, port))
    }
}

/// The first connection that is accepted; each address gets an equal share of the remaining time.
async fn dial(addresses: &[SocketAddr], deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for (tried, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = deadline.saturating_duration_since(Instant::now()) / left;
        match timeout_at(Instant::now() + share, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(error)) => last = error,
            Err(_elapsed) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

fn server_name(host: Host<String>) -> Option<ServerName<'static>> {
    match host {
        Host::Domain(name) => ServerName::try_from(name).ok(),
        Host::Ipv4(address) => Some(ServerName::from(std::net::IpAddr::V4(address))),
        Host::Ipv6(address) => Some(ServerName::from(std::net::IpAddr::V6(address))),
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<BoundedStream>;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<TokioIo<BoundedStream>, ConnectError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let parts = Arc::clone(&self.0);
        Box::pin(async move { parts.connect(&uri).await.map(TokioIo::new) })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}
