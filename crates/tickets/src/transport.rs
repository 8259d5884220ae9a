use std::fmt;

use async_trait::async_trait;

/// Carries requests to mints in place of HTTP: for simulations, in which there are no sockets.
#[async_trait]
pub trait MintTransport: Send + Sync + fmt::Debug {
    /// Sends a request; returns the status and the body of the response.
    ///
    /// # Errors
    /// [`NoResponse`].
    async fn send(&self, method: &str, url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), NoResponse>;
}

/// No response was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoResponse {
    /// Whether the request may have been sent.
    pub maybe_sent: bool,
}
