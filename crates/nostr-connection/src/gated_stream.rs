//! A connection that sends only while its gate is open.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::dialer::ByteStream;

/// Whether data may be sent, checked before each write. If not, the connection breaks and queued data is dropped.
#[derive(Clone)]
pub struct WriteGate(pub Arc<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for WriteGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGate").finish_non_exhaustive()
    }
}

pub(crate) struct GatedStream {
    pub(crate) stream: Box<dyn ByteStream>,
    pub(crate) gate: WriteGate,
}

impl AsyncRead for GatedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for GatedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if !(self.gate.0)() {
            return Poll::Ready(Err(io::ErrorKind::PermissionDenied.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn nothing_is_sent_once_the_gate_is_closed() {
        let (stream, mut relay) = tokio::io::duplex(64);
        let open = Arc::new(AtomicBool::new(true));
        let gate = WriteGate(Arc::new({
            let open = Arc::clone(&open);
            move || open.load(Ordering::Relaxed)
        }));
        let mut stream = GatedStream { stream: Box::new(stream), gate };
        stream.write_all(b"in time").await.unwrap();
        open.store(false, Ordering::Relaxed);
        stream.write_all(b" too late").await.unwrap_err();
        drop(stream);
        let mut received = String::new();
        relay.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "in time");
    }
}
