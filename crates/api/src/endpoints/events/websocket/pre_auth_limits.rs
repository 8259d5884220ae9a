//! A socket that limits how much it reads before the client is authenticated.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes read from an unauthenticated client: enough for a token, and too few for many such clients to fill the memory with
/// endless messages.
const ALLOWANCE: usize = 4 * 1024;

/// A socket with an allowance for reading.
pub(super) struct PreAuthLimits<S> {
    socket: S,
    /// What may still be read; `None` when there is no limit.
    allowance: Option<usize>,
}

impl<S> PreAuthLimits<S> {
    /// Wraps a socket; `known` if the client has sent the token already.
    pub(super) fn new(socket: S, known: bool) -> Self {
        Self { socket, allowance: (!known).then_some(ALLOWANCE) }
    }

    /// Lifts the limits: the client has sent the token.
    pub(super) fn trust(&mut self) {
        self.allowance = None;
    }

    /// Whether they have sent more than they may.
    pub(super) fn is_exhausted(&self) -> bool {
        self.allowance == Some(0)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PreAuthLimits<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.is_exhausted() {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "an unauthenticated client sent too much",
            )));
        }
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.socket).poll_read(cx, buf);
        if let Some(left) = &mut self.allowance {
            *left = left.saturating_sub(buf.filled().len().saturating_sub(before));
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PreAuthLimits<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
