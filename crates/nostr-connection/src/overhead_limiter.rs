//! Limits what a connection costs beside its messages.
//!
//! The WebSocket library returns whole messages. A message that is sent in endless fragments, empty or tiny ones, never
//! becomes whole, so no code above the library sees it, although each fragment costs as much as a small message. TLS
//! records that carry one byte or none do the same below the library. So bytes are counted below TLS ([`ByteCounter`])
//! and frames above it ([`FrameCounter`]). A connection that exceeds its limits ends with an error that carries [`Abuse`].
//!
//! Messages in a single frame are not counted here: the code that reads them limits them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use usher_token_bucket::{Rate, TokenBucket};

use crate::frame_tracker::FrameTracker;

/// What a connection may cost beside its messages, at once and per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverheadLimits {
    /// WebSocket frames that are not a whole message: pings, pongs, fragments.
    pub frames: u32,
    /// More of them each second.
    pub frames_per_second: u32,
    /// Bytes that TLS adds. For messages of 300 bytes, each in a record of its own, that is a twelfth.
    pub bytes: u32,
    /// More of them each second.
    pub bytes_per_second: u32,
}

impl OverheadLimits {
    /// For relays that the operator chose: 65,536 frames and 8,192 more per second, 16 MiB and 4 MiB more per second.
    pub const OPERATOR: Self =
        Self { frames: 65_536, frames_per_second: 8192, bytes: 16 * 1024 * 1024, bytes_per_second: 4 * 1024 * 1024 };

    /// For relays that users chose: 4,096 frames and 512 more per second, 1 MiB and 256 KiB more per second.
    pub const USER: Self =
        Self { frames: 4096, frames_per_second: 512, bytes: 1024 * 1024, bytes_per_second: 256 * 1024 };
}

/// Which limit a relay exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Abuse {
    /// Endless control frames or fragments.
    #[error("too many frames that carry no message")]
    Frames,
    /// TLS records with hardly any content.
    #[error("too many bytes without content")]
    Overhead,
    /// A message that does not end.
    #[error("a message took too long to arrive")]
    Slow,
}

impl Abuse {
    /// The abuse that an error of the connection carries.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// Counts what one connection costs. Shared by its two counters.
#[derive(Debug)]
pub(crate) struct OverheadLimiter {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    frames: TokenBucket<Instant>,
    overhead: TokenBucket<Instant>,
    tracker: FrameTracker,
    /// Since when a message has been arriving, and how many came before it.
    begun: Option<(Instant, u64)>,
    message_within: Duration,
}

impl OverheadLimiter {
    pub(crate) fn new(limits: &OverheadLimits, message_within: Duration, now: Instant) -> Self {
        let bucket = |burst, per_second| TokenBucket::new(Rate::per_second(burst, f64::from(per_second)), now);
        let frames = bucket(limits.frames, limits.frames_per_second);
        let overhead = bucket(limits.bytes, limits.bytes_per_second);
        let inner = Inner { frames, overhead, tracker: FrameTracker::new(), begun: None, message_within };
        Self { inner: Mutex::new(inner) }
    }

    /// So many bytes were received below TLS.
    fn count_bytes(&self, bytes: usize, now: Instant) -> Result<(), Abuse> {
        if self.inner.lock().overhead.take_part(bytes as f64, now) { Ok(()) } else { Err(Abuse::Overhead) }
    }

    /// These of them belong to the WebSocket.
    fn count_frames(&self, bytes: &[u8], now: Instant) -> Result<(), Abuse> {
        let mut inner = self.inner.lock();
        let Inner { frames, overhead, tracker, begun, message_within } = &mut *inner;
        overhead.give_back(bytes.len() as f64);
        let costly = tracker.read(bytes);
        if !frames.take_part(f64::from(costly), now) {
            return Err(Abuse::Frames);
        }
        if !tracker.within_message() {
            *begun = None;
            return Ok(());
        }
        let messages = tracker.messages();
        match begun {
            Some((since, before)) if *before == messages => {
                if now.saturating_duration_since(*since) > *message_within {
                    return Err(Abuse::Slow);
                }
            }
            other => *other = Some((now, messages)),
        }
        Ok(())
    }
}

/// Counts the bytes of a stream below TLS.
pub(crate) struct ByteCounter<S> {
    inner: S,
    limiter: Arc<OverheadLimiter>,
}

/// Counts the frames of a stream above TLS and below the WebSocket.
pub(crate) struct FrameCounter<S> {
    inner: S,
    limiter: Arc<OverheadLimiter>,
}

impl<S> ByteCounter<S> {
    pub(crate) fn new(inner: S, limiter: Arc<OverheadLimiter>) -> Self {
        Self { inner, limiter }
    }
}

impl<S> FrameCounter<S> {
    pub(crate) fn new(inner: S, limiter: Arc<OverheadLimiter>) -> Self {
        Self { inner, limiter }
    }
}

/// Reads from `inner` and passes what was received to `count`.
fn poll_read<S: AsyncRead + Unpin>(
    inner: &mut S,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
    count: impl FnOnce(&[u8], Instant) -> Result<(), Abuse>,
) -> Poll<io::Result<()>> {
    let before = buf.filled().len();
    std::task::ready!(Pin::new(inner).poll_read(cx, buf))?;
    let came = buf.filled().get(before..).unwrap_or_default();
    Poll::Ready(count(came, Instant::now()).map_err(io::Error::other))
}

impl<S: AsyncRead + Unpin> AsyncRead for ByteCounter<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { inner, limiter } = self.get_mut();
        poll_read(inner, cx, buf, |came, now| limiter.count_bytes(came.len(), now))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FrameCounter<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { inner, limiter } = self.get_mut();
        poll_read(inner, cx, buf, |came, now| limiter.count_frames(came, now))
    }
}

/// What we write is not limited.
macro_rules! write_through {
    ($stream:ident) => {
        impl<S: AsyncWrite + Unpin> AsyncWrite for $stream<S> {
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
    };
}

write_through!(ByteCounter);
write_through!(FrameCounter);

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\n\r\n";

    fn limiter() -> OverheadLimiter {
        let limits = OverheadLimits { frames: 10, frames_per_second: 1, bytes: 1000, bytes_per_second: 100 };
        OverheadLimiter::new(&limits, Duration::from_secs(60), Instant::now())
    }

    #[test]
    fn fragments_and_control_frames_are_limited_but_messages_are_not() {
        let (limiter, now) = (limiter(), Instant::now());
        limiter.count_frames(HEAD, now).unwrap();
        for _ in 0..1000 {
            limiter.count_frames(b"\x81\x02[]", now).unwrap();
        }
        limiter.count_frames(b"\x01\x00", now).unwrap();
        let taken = (0..100).take_while(|_| limiter.count_frames(b"\x00\x00", now).is_ok()).count();
        assert_eq!(taken, 9);
        assert_eq!(limiter.count_frames(b"\x89\x00", now), Err(Abuse::Frames), "pings as well");
        assert_eq!(
            limiter.count_frames(b"\x80\x00\x81\x02[]", now + Duration::from_secs(5)),
            Ok(()),
            "later there is more"
        );
    }

    #[test]
    fn bytes_without_content_are_limited() {
        let (limiter, now) = (limiter(), Instant::now());
        limiter.count_frames(HEAD, now).unwrap();
        for _ in 0..50 {
            limiter.count_bytes(500, now).unwrap();
            limiter.count_frames(&[&b"\x82\x7e\x01\xe8"[..], &[0; 488]].concat(), now).unwrap();
        }
        // 8 bytes of each 500 are overhead.
        assert_eq!(limiter.count_bytes(700, now), Err(Abuse::Overhead));
        assert_eq!(limiter.count_bytes(700, now + Duration::from_secs(5)), Ok(()));
    }

    #[test]
    fn message_must_be_complete_within_the_deadline() {
        let (limiter, start) = (limiter(), Instant::now());
        let at = |secs| start + Duration::from_secs(secs);
        limiter.count_frames(HEAD, start).unwrap();
        limiter.count_frames(b"\x81\x05[", at(0)).unwrap();
        limiter.count_frames(b"   ", at(59)).unwrap();
        limiter.count_frames(b"]\x01\x01[", at(60)).unwrap();
        limiter.count_frames(b"\x00\x01 ", at(119)).unwrap();
        assert_eq!(limiter.count_frames(b"\x89\x00", at(121)), Err(Abuse::Slow), "a ping in between changes nothing");
    }
}
