//! The `Dialer` trait, with which simulations replace TCP.

use std::fmt::Debug;
use std::io;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

/// A stream of bytes in both directions.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Opens the stream to a relay, below TLS and the WebSocket, for simulations without a network.
#[async_trait]
pub trait Dialer: Debug + Send + Sync {
    /// Connects to the host and port of `url`.
    ///
    /// # Errors
    /// What the network would report.
    async fn dial(&self, url: &Url) -> io::Result<Box<dyn ByteStream>>;
}
