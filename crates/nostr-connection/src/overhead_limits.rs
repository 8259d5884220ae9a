//! Limits the overhead of a connection: received bytes are counted below TLS, because endless fragments or TLS records
//! without content are invisible above it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use usher_token_bucket::{Rate, TokenBucket};

/// Burst of pings and pongs, and its refill per second.
const CONTROL_FRAMES: u32 = 4096;
const CONTROL_FRAMES_PER_SECOND: f64 = 512.0;

/// Bytes of a control frame beside its content; TLS may add as many more.
const CONTROL_HEADER_BYTES: u64 = 2;
const TLS_RECORD_BYTES: u64 = 64;

/// Most bytes before a message is complete, beside twice the longest message: overhead of fragments and TLS records.
const FRAGMENT_BYTES: u64 = 64 * 1024;

/// The limit that a relay exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Abuse {
    /// Endless pings or pongs.
    #[error("too many pings")]
    Pings,
    /// Endless fragments, or TLS records with hardly any content.
    #[error("too many bytes without a message")]
    Bytes,
    /// A message that takes too long.
    #[error("a message took too long to arrive")]
    Slow,
}

impl Abuse {
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// Counts the received bytes of one connection. Shared by its stream and its owner.
#[derive(Debug)]
pub(crate) struct ReadMeter(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    control_frames: TokenBucket<Instant>,
    control_frame_bytes: u64,
    /// Received bytes not yet attributed to a message or control frame.
    pending: u64,
    most_pending: u64,
    begun: Option<Instant>,
    message_within: Duration,
}

impl ReadMeter {
    /// For messages of at most `max_message_bytes` that arrive within `message_within`.
    pub(crate) fn new(max_message_bytes: usize, message_within: Duration, has_tls: bool, now: Instant) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Inner {
            control_frames: TokenBucket::new(Rate::per_second(CONTROL_FRAMES, CONTROL_FRAMES_PER_SECOND), now),
            control_frame_bytes: CONTROL_HEADER_BYTES + if has_tls { TLS_RECORD_BYTES } else { 0 },
            pending: 0,
            most_pending: 2 * max_message_bytes as u64 + FRAGMENT_BYTES,
            begun: None,
            message_within,
        })))
    }

    pub(crate) fn message(&self) {
        let mut inner = self.0.lock();
        (inner.pending, inner.begun) = (0, None);
    }

    pub(crate) fn control_frame(&self, bytes: usize, now: Instant) -> Result<(), Abuse> {
        let mut inner = self.0.lock();
        inner.pending = inner.pending.saturating_sub(bytes as u64 + inner.control_frame_bytes);
        inner.begun = inner.begun.filter(|_| inner.pending > 0);
        if inner.control_frames.take(now) { Ok(()) } else { Err(Abuse::Pings) }
    }

    fn received(&self, bytes: usize, now: Instant) -> Result<(), Abuse> {
        let mut inner = self.0.lock();
        inner.pending = inner.pending.saturating_add(bytes as u64);
        let begun = *inner.begun.get_or_insert(now);
        match () {
            () if inner.pending > inner.most_pending => Err(Abuse::Bytes),
            () if now.saturating_duration_since(begun) > inner.message_within => Err(Abuse::Slow),
            () => Ok(()),
        }
    }
}

/// A stream whose received bytes are counted.
pub(crate) struct Metered<S> {
    inner: S,
    meter: Arc<ReadMeter>,
}

impl<S> Metered<S> {
    pub(crate) const fn new(inner: S, meter: Arc<ReadMeter>) -> Self {
        Self { inner, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let received = buf.filled().len().saturating_sub(before);
        Poll::Ready(self.meter.received(received, Instant::now()).map_err(io::Error::other))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(has_tls: bool, now: Instant) -> Arc<ReadMeter> {
        ReadMeter::new(1000, Duration::from_secs(60), has_tls, now)
    }

    #[test]
    fn fragments_and_control_frames_are_limited_but_messages_are_not() {
        let now = Instant::now();
        let meter = meter(false, now);
        for _ in 0..1000 {
            meter.received(1004, now).unwrap();
            meter.message();
        }
        let fragments = (0..1_000_000).take_while(|_| meter.received(2, now).is_ok()).count();
        assert_eq!(fragments, (2000 + 64 * 1024) / 2);
        meter.message();
        let ping = |now| meter.received(2, now).and_then(|()| meter.control_frame(0, now));
        assert_eq!((0..1_000_000).take_while(|_| ping(now).is_ok()).count(), 4096);
        assert_eq!(ping(now + Duration::from_secs(1)), Ok(()), "later there is more");
    }

    #[test]
    fn message_must_be_complete_within_the_deadline() {
        let start = Instant::now();
        for (has_tls, pong) in [(false, 2), (true, 26)] {
            let (meter, at) = (meter(has_tls, start), |secs| start + Duration::from_secs(secs));
            for pongs in 0..1000 {
                meter.received(pong, at(pongs * 30)).unwrap();
                meter.control_frame(0, at(pongs * 30)).unwrap();
            }
            meter.received(300, at(100_000)).unwrap();
            meter.received(pong, at(100_059)).unwrap();
            meter.control_frame(0, at(100_059)).unwrap();
            assert_eq!(meter.received(1, at(100_061)), Err(Abuse::Slow), "a pong in between changes nothing");
            meter.message();
            assert_eq!(meter.received(1, at(100_061)), Ok(()));
        }
    }
}
