//! What a connection costs beside the messages it brings.
//!
//! The WebSocket library hands out whole messages. Fragments without end, empty or tiny ones, never become one, so nobody
//! above it sees them, although each costs as much as a small message; and below it TLS does the same with records that
//! carry a byte or none. So bytes are counted below TLS ([`Wire`]) and frames above it ([`Frames`]), and a connection
//! that has had its share ends with an error that says [`Abuse`].
//!
//! Messages in one frame are not counted here: the session counts them by what they turn out to be.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::bucket::Bucket;
use crate::frame_reader::FrameReader;
use crate::options::Burden;

/// Why a connection costs more than it brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Abuse {
    /// Control frames and fragments without end.
    #[error("too many frames that bring no message")]
    Frames,
    /// TLS records with hardly anything in them.
    #[error("too many bytes that carry nothing")]
    Overhead,
    /// One message that does not end.
    #[error("a message took too long to arrive")]
    Slow,
}

impl Abuse {
    /// The abuse that an error of the connection tells of.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// What one connection may cost.
#[derive(Debug)]
pub(crate) struct Meter {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    frames: Bucket,
    overhead: Bucket,
    reader: FrameReader,
    /// Since when a message is arriving, and how many came before it.
    begun: Option<(Instant, u64)>,
    message_within: Duration,
}

impl Meter {
    pub(crate) fn new(burden: &Burden, message_within: Duration, now: Instant) -> Self {
        let frames = Bucket::new(burden.frames, f64::from(burden.frames_per_second), now);
        let overhead = Bucket::new(burden.overhead_bytes, f64::from(burden.overhead_bytes_per_second), now);
        let inner = Inner { frames, overhead, reader: FrameReader::new(), begun: None, message_within };
        Self { inner: Mutex::new(inner) }
    }

    /// So many bytes have come over the wire.
    fn wire(&self, bytes: usize, now: Instant) -> Result<(), Abuse> {
        if self.inner.lock().overhead.take_part(bytes as f64, now) { Ok(()) } else { Err(Abuse::Overhead) }
    }

    /// These of them are the WebSocket's.
    fn frames(&self, bytes: &[u8], now: Instant) -> Result<(), Abuse> {
        let mut inner = self.inner.lock();
        let Inner { frames, overhead, reader, begun, message_within } = &mut *inner;
        overhead.give(bytes.len() as f64);
        let costly = reader.read(bytes);
        if !frames.take_part(f64::from(costly), now) {
            return Err(Abuse::Frames);
        }
        if !reader.within_message() {
            *begun = None;
            return Ok(());
        }
        let messages = reader.messages();
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

/// A stream below TLS.
pub(crate) struct Wire<S> {
    inner: S,
    meter: Arc<Meter>,
}

/// A stream above TLS, below the WebSocket.
pub(crate) struct Frames<S> {
    inner: S,
    meter: Arc<Meter>,
}

impl<S> Wire<S> {
    pub(crate) fn new(inner: S, meter: Arc<Meter>) -> Self {
        Self { inner, meter }
    }
}

impl<S> Frames<S> {
    pub(crate) fn new(inner: S, meter: Arc<Meter>) -> Self {
        Self { inner, meter }
    }
}

/// Reads with `inner`, and has `count` look at what came.
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

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { inner, meter } = self.get_mut();
        poll_read(inner, cx, buf, |came, now| meter.wire(came.len(), now))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Frames<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { inner, meter } = self.get_mut();
        poll_read(inner, cx, buf, |came, now| meter.frames(came, now))
    }
}

/// Writing costs nothing that is not ours.
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

write_through!(Wire);
write_through!(Frames);

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\n\r\n";

    fn meter() -> Meter {
        let burden = Burden { frames: 10, frames_per_second: 1, overhead_bytes: 1000, overhead_bytes_per_second: 100 };
        Meter::new(&burden, Duration::from_secs(60), Instant::now())
    }

    #[test]
    fn fragments_and_control_frames_have_a_share_and_messages_do_not() {
        let (meter, now) = (meter(), Instant::now());
        meter.frames(HEAD, now).unwrap();
        for _ in 0..1000 {
            meter.frames(b"\x81\x02[]", now).unwrap();
        }
        meter.frames(b"\x01\x00", now).unwrap();
        let taken = (0..100).take_while(|_| meter.frames(b"\x00\x00", now).is_ok()).count();
        assert_eq!(taken, 9);
        assert_eq!(meter.frames(b"\x89\x00", now), Err(Abuse::Frames), "pings as well");
        assert_eq!(meter.frames(b"\x80\x00\x81\x02[]", now + Duration::from_secs(5)), Ok(()), "later there is more");
    }

    #[test]
    fn bytes_that_become_nothing_have_a_share() {
        let (meter, now) = (meter(), Instant::now());
        meter.frames(HEAD, now).unwrap();
        for _ in 0..50 {
            meter.wire(500, now).unwrap();
            meter.frames(&[&b"\x82\x7e\x01\xe8"[..], &[0; 488]].concat(), now).unwrap();
        }
        // 8 bytes of each 500 are overhead.
        assert_eq!(meter.wire(700, now), Err(Abuse::Overhead));
        assert_eq!(meter.wire(700, now + Duration::from_secs(5)), Ok(()));
    }

    #[test]
    fn a_message_has_its_time() {
        let (meter, start) = (meter(), Instant::now());
        let at = |secs| start + Duration::from_secs(secs);
        meter.frames(HEAD, start).unwrap();
        meter.frames(b"\x81\x05[", at(0)).unwrap();
        meter.frames(b"   ", at(59)).unwrap();
        meter.frames(b"]\x01\x01[", at(60)).unwrap();
        meter.frames(b"\x00\x01 ", at(119)).unwrap();
        assert_eq!(meter.frames(b"\x89\x00", at(121)), Err(Abuse::Slow), "a ping in between changes nothing");
    }
}
