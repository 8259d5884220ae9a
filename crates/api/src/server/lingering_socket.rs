//! A socket that limits how long a client may read nothing, and that closes so that the client gets the last response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::framing::{FramingScanner, RefusedRequest};

/// How long, and how much, to read after the last response.
///
/// Closing a socket with unread or still arriving bytes resets the connection, and the client loses the response that it
/// has not read yet: of all responses the 401 and 413 that tell it to stop sending.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1024 * 1024;

/// How long the end of the client's data is withheld while a response is being made.
///
/// A client may close its side before it has the response (`printf … | nc` does). The HTTP library cannot tell that from a
/// client that has gone, and would drop the request. Every request except long polls is answered within this time.
const HALF_CLOSED: Duration = Duration::from_secs(2);

/// A socket with a time limit for writing, a lingering close, and a response for clients that have closed their side.
pub(super) struct LingeringSocket<S> {
    socket: S,
    write_timeout: Duration,
    /// Looks at every byte that is read.
    scanner: Option<FramingScanner<Arc<RefusedRequest>>>,
    /// A response is being made.
    answering: Arc<AtomicBool>,
    /// Runs from the moment that the client has closed its side while a response is being made.
    half_closed: Option<Pin<Box<Sleep>>>,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Runs from the moment that everything is written.
    lingering: Option<Linger>,
}

struct Linger {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl<S> LingeringSocket<S> {
    /// Guards `socket`; `answering` says whether a call is being answered.
    pub(super) fn new(socket: S, write_timeout: Duration, answering: Arc<AtomicBool>) -> Self {
        Self { socket, write_timeout, scanner: None, answering, half_closed: None, stalled: None, lingering: None }
    }

    /// The same, which notes in `refused` which of the requests it reads must be refused.
    pub(super) fn checking_framing(mut self, refused: Arc<RefusedRequest>) -> Self {
        self.scanner = Some(FramingScanner::new(refused));
        self
    }

    /// Passes on the outcome of a write; an error when the client has taken nothing for too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LingeringSocket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, buf))?;
        let this = &mut *self;
        if let Some(scanner) = &mut this.scanner {
            scanner.read(buf.filled().get(before..).unwrap_or_default());
        }
        let ended = buf.filled().len() == before && buf.remaining() > 0;
        if ended && self.answering.load(Ordering::Relaxed) {
            let kept_back = self.half_closed.get_or_insert_with(|| Box::pin(tokio::time::sleep(HALF_CLOSED)));
            ready!(kept_back.as_mut().poll(cx));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringSocket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.watch(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.watch(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.socket).poll_flush(cx);
        self.watch(cx, outcome)
    }

    /// Ends the sending side, then reads until the client ends its side or the time is over.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            let outcome = Pin::new(&mut this.socket).poll_shutdown(cx);
            ready!(this.watch(cx, outcome))?;
            let until = Box::pin(tokio::time::sleep_until(Instant::now() + LINGER));
            this.lingering = Some(Linger { until, left: LINGER_BYTES });
        }
        let Some(linger) = &mut this.lingering else { return Poll::Ready(Ok(())) };
        let mut discarded = [0; 4096];
        while linger.left > 0 {
            let mut buf = ReadBuf::new(&mut discarded);
            match Pin::new(&mut this.socket).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    linger.left = linger.left.saturating_sub(buf.filled().len());
                }
                // The end, or a connection that is broken anyway.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    ready!(linger.until.as_mut().poll(cx));
                    return Poll::Ready(Ok(()));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::timeout;

    use super::*;

    const FOREVER: Duration = Duration::from_secs(3_600);

    fn socket<S>(socket: S) -> LingeringSocket<S> {
        LingeringSocket::new(socket, Duration::from_secs(30), Arc::default())
    }

    #[tokio::test(start_paused = true)]
    async fn end_of_input_is_delayed_while_a_response_is_written() {
        let (ours, mut theirs) = duplex(1024);
        let answering = Arc::new(AtomicBool::new(true));
        let mut ours = LingeringSocket::new(ours, Duration::from_secs(30), Arc::clone(&answering));
        theirs.write_all(b"question").await.unwrap();
        theirs.shutdown().await.unwrap();
        assert_eq!(ours.read(&mut [0; 16]).await.unwrap(), 8);
        let before = Instant::now();
        assert!(timeout(HALF_CLOSED / 2, ours.read(&mut [0; 16])).await.is_err());
        ours.write_all(b"answer").await.unwrap();
        assert_eq!(ours.read(&mut [0; 16]).await.unwrap(), 0, "not for ever");
        assert_eq!(before.elapsed().as_secs(), HALF_CLOSED.as_secs());

        let (ours, theirs) = duplex(1024);
        let mut ours = socket(ours);
        drop(theirs);
        assert_eq!(ours.read(&mut [0; 16]).await.unwrap(), 0, "nobody waits for anything");
        assert_eq!(before.elapsed().as_secs(), HALF_CLOSED.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn write_times_out_when_the_client_reads_nothing() {
        let (ours, _theirs) = duplex(1024);
        let mut ours = socket(ours);
        let written = timeout(FOREVER, ours.write_all(&[0; 4096])).await.unwrap();
        let error = written.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_client_does_not_time_out() {
        let (ours, mut theirs) = duplex(1024);
        let mut ours = socket(ours);
        let write = ours.write_all(&[7; 8192]);
        let read = async {
            let mut left = 8192;
            while left > 0 {
                tokio::time::sleep(Duration::from_secs(20)).await;
                left -= theirs.read(&mut [0; 1024]).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(write, read);
        written.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn close_drains_data_still_being_received() {
        let (ours, mut theirs) = duplex(1024);
        let mut ours = socket(ours);
        let send = async {
            theirs.write_all(&[1; 100_000]).await.unwrap();
            theirs.shutdown().await.unwrap();
        };
        let both = async { tokio::join!(ours.shutdown(), send) };
        let (closed, ()) = timeout(FOREVER, both).await.unwrap();
        closed.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn close_waits_a_limited_time() {
        let (ours, mut theirs) = duplex(1024);
        let mut ours = socket(ours);
        let before = Instant::now();
        ours.shutdown().await.unwrap();
        assert_eq!(before.elapsed().as_secs(), LINGER.as_secs(), "a client that keeps silent");
        drop(ours);
        assert!(theirs.write_all(b"late").await.is_err());

        let (ours, mut theirs) = duplex(1024);
        let mut ours = socket(ours);
        let flood = async { while theirs.write_all(&[1; 1024]).await.is_ok() {} };
        let close = async move { ours.shutdown().await };
        let (closed, ()) = timeout(FOREVER, async { tokio::join!(close, flood) }).await.unwrap();
        closed.unwrap();
    }
}
