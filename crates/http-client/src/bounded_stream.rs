//! A connection that does not wait forever for the final response.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Most bytes that may precede the status line of the final response: room for a `100` and some `103` with their
/// links.
pub const MAX_INTERIM_BYTES: usize = 16 * 1024;

/// The server sent interim or invalid responses and no final one.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no final response within {MAX_INTERIM_BYTES} bytes")]
pub struct TooMuchInterim;

/// The socket under a connection.
pub(crate) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection that counts the bytes before the final response.
pub struct BoundedStream {
    socket: Socket,
    interim: Interim,
}

impl BoundedStream {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, interim: Interim::default() }
    }
}

/// The beginning of a status line.
const STATUS_LINE: &[u8] = b"HTTP/1.x ";

/// Follows a response up to the status line of the final one.
///
/// It stops counting only when it has seen `HTTP/1.x` and a status of 200 or above where a status line must be: at the
/// beginning, or after the empty line that ends an interim response. Everything else is counted, so a server that the
/// HTTP library interprets differently gains nothing but the bytes it had in any case.
#[derive(Debug, Default)]
struct Interim {
    counted: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// So many bytes of a status line were read.
    StatusLine(usize),
    /// In the head of an interim response; so many bytes of the line were read (not counting a carriage return).
    Head(usize),
    /// In the final response.
    Final,
}

impl Default for Place {
    fn default() -> Self {
        Self::StatusLine(0)
    }
}

impl Interim {
    /// A request is sent: its response comes next.
    fn request(&mut self) {
        if self.place == Place::Final {
            *self = Self::default();
        }
    }

    /// These bytes were received.
    fn response(&mut self, bytes: &[u8]) -> Result<(), TooMuchInterim> {
        for byte in bytes {
            if self.place == Place::Final {
                return Ok(());
            }
            self.counted += 1;
            if self.counted > MAX_INTERIM_BYTES {
                return Err(TooMuchInterim);
            }
            self.place = self.next(*byte);
        }
        Ok(())
    }

    fn next(&self, byte: u8) -> Place {
        match (self.place, byte) {
            // Line ends before a status line are skipped, as HTTP libraries do.
            (Place::StatusLine(0), b'\r' | b'\n') => Place::StatusLine(0),
            (Place::StatusLine(seen), b'2'..=b'9') if seen == STATUS_LINE.len() => Place::Final,
            (Place::StatusLine(seen), _) if STATUS_LINE.get(seen).is_some_and(|wanted| fits(*wanted, byte)) => {
                Place::StatusLine(seen + 1)
            }
            (Place::Head(0), b'\n') => Place::StatusLine(0),
            (Place::StatusLine(_) | Place::Head(_), b'\n') => Place::Head(0),
            (Place::Head(seen), b'\r') => Place::Head(seen),
            (Place::StatusLine(_), _) => Place::Head(1),
            (Place::Head(seen), _) => Place::Head(seen.saturating_add(1)),
            (Place::Final, _) => Place::Final,
        }
    }
}

fn fits(wanted: u8, byte: u8) -> bool {
    if wanted == b'x' { matches!(byte, b'0' | b'1') } else { wanted == byte }
}

impl AsyncRead for BoundedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        ready!(match &mut this.socket {
            Socket::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Socket::Tls(socket) => Pin::new(socket.as_mut()).poll_read(cx, buf),
        })?;
        let came = buf.filled().get(before..).unwrap_or_default();
        Poll::Ready(this.interim.response(came).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)))
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.interim.request();
        match &mut self.socket {
            Socket::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Socket::Tls(socket) => Pin::new(socket.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.interim.request();
        match &mut self.socket {
            Socket::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, bytes),
            Socket::Tls(socket) => Pin::new(socket.as_mut()).poll_write_vectored(cx, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.socket {
            Socket::Plain(socket) => socket.is_write_vectored(),
            Socket::Tls(socket) => socket.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Socket::Tls(socket) => Pin::new(socket.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Socket::Tls(socket) => Pin::new(socket.as_mut()).poll_shutdown(cx),
        }
    }
}

impl Connection for BoundedStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(text: &str) -> bool {
        let mut interim = Interim::default();
        // However it is cut into pieces.
        text.as_bytes().chunks(7).all(|piece| interim.response(piece).is_ok())
    }

    const ROOM: usize = MAX_INTERIM_BYTES;

    #[test]
    fn final_response_is_not_limited() {
        let body = "x".repeat(10 * ROOM);
        for head in [
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.0 500 No\r\n\r\n",
            "\r\n\r\nHTTP/1.1 404 \r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nlink: </b>\r\n\r\nHTTP/1.1 103 x\n\nHTTP/1.1 201 Created\r\n\r\n",
        ] {
            assert!(passes(&format!("{head}{body}")), "{head:?}");
        }
    }

    #[test]
    fn endless_interim_responses_reach_the_limit() {
        for part in [
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 103 \r\nlink: </a>\r\n\r\n",
            "HTTP/1.1 100\n\n",
            "\r\n",
            "\n",
            "x",
            "HTTP/1.1 1\r\nHTTP/1.1 200 OK\r\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 100 \r\nx: HTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert!(!passes(&part.repeat(ROOM / part.len() + 1)), "{part:?}");
        }
    }

    #[test]
    fn each_response_has_its_own_limit() {
        let mut interim = Interim::default();
        for _ in 0..10 {
            interim.request();
            interim.response(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
            // Sending on does not start another response.
            interim.request();
            interim.response(&b"HTTP/1.1 103 x\r\n\r\n".repeat(ROOM / 20 - 10)).unwrap();
            interim.response(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        }
        interim.request();
        assert!(interim.response(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(ROOM)).is_err());
    }
}
