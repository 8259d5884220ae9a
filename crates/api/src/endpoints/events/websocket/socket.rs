//! Sends and receives messages, each within a time limit.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message, Utf8Bytes};

use super::close_reason::CloseReason;
use super::pre_auth_limits::PreAuthLimits;

/// How much is read at a time. Allocated for as long as the connection is open, and most of them are idle: commands are
/// far smaller, and a large message takes a few more reads.
const READ_BYTES: usize = 2 * 1024;

/// How much is gathered before it is written: the events of a page go out together.
const WRITE_BYTES: usize = 16 * 1024;

/// The slowest reader that is waited for, in bytes per second, beyond `limits.socket_send_timeout`: a large answer over
/// a bad mobile connection is no reason to hang up.
const SLOWEST: usize = 16 * 1024;

/// How long a client may take to answer our goodbye; and when the service stops, which should not wait for one that is
/// gone without a word.
const GOODBYE: Duration = Duration::from_secs(5);
const GOODBYE_AT_STOP: Duration = Duration::from_secs(2);

/// What a client has sent.
pub(super) enum Received {
    /// A message.
    Text(Utf8Bytes),
    /// A ping (which gets a pong) or a pong.
    Control,
}

/// One end of a WebSocket.
pub(super) struct Socket {
    stream: WebSocketStream<PreAuthLimits<TokioIo<Upgraded>>>,
    send_timeout: Duration,
}

impl Socket {
    /// The server's end. Messages have at most `message_bytes`, and far less before the client is `known`.
    pub(super) async fn new(io: Upgraded, known: bool, message_bytes: usize, send_timeout: Duration) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .write_buffer_size(WRITE_BYTES)
            .max_message_size(Some(message_bytes))
            .max_frame_size(Some(message_bytes));
        let io = PreAuthLimits::new(TokioIo::new(io), known);
        Self { stream: WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await, send_timeout }
    }

    /// Lifts the limits: the client has sent the token.
    pub(super) fn trust(&mut self) {
        self.stream.get_mut().trust();
    }

    /// The next message. Dropped before it is ready, it has lost nothing.
    ///
    /// # Errors
    /// The [`CloseReason`] that this is.
    pub(super) async fn receive(&mut self) -> Result<Received, CloseReason> {
        match self.stream.next().await {
            Some(Ok(Message::Text(text))) => Ok(Received::Text(text)),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(Received::Control),
            Some(Ok(Message::Binary(_))) => Err(CloseReason::Binary),
            Some(Ok(Message::Close(_))) | None => Err(CloseReason::Client),
            Some(Err(_)) if self.stream.get_ref().is_exhausted() => Err(CloseReason::TooLarge),
            Some(Err(error)) => Err(match error {
                Error::Capacity(_) => CloseReason::TooLarge,
                Error::Utf8(_) => CloseReason::NotText,
                Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => CloseReason::Broken,
                Error::Protocol(_) => CloseReason::Protocol,
                _ => CloseReason::Broken,
            }),
        }
    }

    /// Sends messages, and returns when the system has taken them.
    ///
    /// # Errors
    /// [`CloseReason::SlowReader`] when that takes too long, else [`CloseReason::Broken`].
    pub(super) async fn send(&mut self, messages: Vec<String>) -> Result<(), CloseReason> {
        let bytes: usize = messages.iter().map(String::len).sum();
        let patience = self.send_timeout + Duration::from_secs(u64::try_from(bytes / SLOWEST).unwrap_or(u64::MAX));
        let sending = async {
            for message in messages {
                self.stream.feed(Message::text(message)).await?;
            }
            self.stream.flush().await
        };
        Self::within(patience, sending).await
    }

    /// Asks the client for a sign of life.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(super) async fn ping(&mut self) -> Result<(), CloseReason> {
        let patience = self.send_timeout;
        Self::within(patience, self.stream.send(Message::Ping(Bytes::new()))).await
    }

    async fn within(patience: Duration, sending: impl Future<Output = Result<(), Error>>) -> Result<(), CloseReason> {
        match timeout(patience, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(CloseReason::Broken),
            Err(_elapsed) => Err(CloseReason::SlowReader),
        }
    }

    /// Says goodbye, waits for the client's, and closes the connection.
    pub(super) async fn close(mut self, end: CloseReason) {
        let goodbye = async {
            if let Some(frame) = end.frame()
                && self.stream.send(Message::Close(Some(frame))).await.is_err()
            {
                return;
            }
            while let Some(Ok(_)) = self.stream.next().await {}
        };
        let patience = if end == CloseReason::Stopping { GOODBYE_AT_STOP } else { GOODBYE };
        // Late or broken: nothing follows but the end in either case.
        let _ = timeout(patience, goodbye).await;
        let _ = timeout(patience, self.stream.into_inner().shutdown()).await;
    }
}
