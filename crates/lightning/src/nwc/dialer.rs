//! What a connection to a relay is made of, below TLS and the WebSocket.

use std::fmt::Debug;
use std::io;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use url::Url;

/// A stream of bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens the stream to a relay. [`TcpDialer`] is the default; simulations give streams in memory.
#[async_trait]
pub trait Dialer: Debug + Send + Sync {
    /// Connects to the host and port of `url`. Whoever calls bounds the time.
    ///
    /// # Errors
    /// What the network says.
    async fn dial(&self, url: &Url) -> io::Result<Box<dyn Stream>>;
}

/// Connects by TCP, without delay: requests are small, and somebody waits for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpDialer;

#[async_trait]
impl Dialer for TcpDialer {
    async fn dial(&self, url: &Url) -> io::Result<Box<dyn Stream>> {
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, url.port_or_known_default().unwrap_or(443))).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}
