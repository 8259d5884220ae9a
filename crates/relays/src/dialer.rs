//! What a connection to a relay may be made of, in place of TCP.

use std::fmt::Debug;
use std::io;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::RelayAddress;

/// A stream of bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens the stream to a relay, below TLS and the WebSocket: for simulations, which have no network. It takes the place of
/// the address guard, too.
#[async_trait]
pub trait Dialer: Debug + Send + Sync {
    /// Connects to `address`.
    ///
    /// # Errors
    /// What the network would say.
    async fn dial(&self, address: &RelayAddress) -> io::Result<Box<dyn Stream>>;
}
