//! A connection from the handshake to its end: reads, writes, and detects dead relays.

use std::future::{self, poll_fn};
use std::sync::Arc;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

use crate::dialer::ByteStream;
use crate::overhead_limits::{Abuse, ReadMeter};
use crate::printable::printable;
use crate::time_limits::Timing;

pub(crate) type Socket = WebSocketStream<Box<dyn ByteStream>>;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The relay closed the connection, with this reason, often none.
    #[error("the relay closed the connection{}{}", if .0.is_empty() { "" } else { ": " }, .0)]
    Closed(String),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(#[source] Box<tungstenite::Error>),
    /// Nothing arrived, not even the response to a ping.
    #[error("the relay no longer responds")]
    Silent,
    /// The socket accepts no more data.
    #[error("the relay does not read what we send")]
    Stuck,
    /// The relay exceeded a limit.
    #[error("the relay floods us: {0}")]
    Abuse(#[source] Abuse),
}

impl From<tungstenite::Error> for ConnectionError {
    fn from(error: tungstenite::Error) -> Self {
        match error {
            tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => Self::Closed(String::new()),
            tungstenite::Error::Io(error) => match Abuse::of(&error) {
                Some(abuse) => Self::Abuse(abuse),
                None => Self::Broken(Box::new(error.into())),
            },
            error => Self::Broken(Box::new(error)),
        }
    }
}

/// What the owner of a connection is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// To receive messages. Without it nothing is read, which causes back-pressure on the relay.
    pub read: bool,
    /// To send a message.
    pub write: bool,
}

impl Interest {
    /// Only reading.
    pub const READ: Self = Self { read: true, write: false };
}

/// An event on a connection.
#[derive(Debug)]
pub enum Activity {
    /// The socket is ready for a message; see [`Connection::start_send`].
    Writable,
    /// A text message.
    Text(Utf8Bytes),
    /// A binary message of this many bytes.
    Binary(usize),
}

/// One WebSocket connection to one relay.
pub struct Connection {
    sink: SplitSink<Socket, Message>,
    stream: SplitStream<Socket>,
    meter: Arc<ReadMeter>,
    timing: Timing,
    unflushed: bool,
    ping: bool,
    was_reading: bool,
    received_at: Instant,
    pinged_at: Option<Instant>,
    /// Since when the socket has accepted no data.
    stuck_since: Option<Instant>,
}

impl Connection {
    pub(crate) fn new(socket: Socket, meter: Arc<ReadMeter>, timing: Timing, now: Instant) -> Self {
        meter.message();
        let (sink, stream) = socket.split();
        Self {
            sink,
            stream,
            meter,
            timing,
            unflushed: false,
            ping: false,
            was_reading: true,
            received_at: now,
            pinged_at: None,
            stuck_since: None,
        }
    }

    pub(crate) const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Waits for the next activity in which the owner is interested. Meanwhile flushes sent messages, pings a silent
    /// relay, and gives up a dead one. Cancel-safe.
    ///
    /// # Errors
    /// [`ConnectionError`] when the connection ended.
    pub async fn next(&mut self, interest: Interest) -> Result<Activity, ConnectionError> {
        let Interest { read, write } = interest;
        if read && !self.was_reading {
            // The relay may have sent something while we did not read.
            self.received(Instant::now());
        }
        self.was_reading = read;
        loop {
            let now = Instant::now();
            let due = self.check(read, now)?;
            let writing = self.ping || write;
            self.watch_writing(writing, now);
            let sink = &mut self.sink;
            tokio::select! {
                ready = poll_fn(|cx| if writing {
                    sink.poll_ready_unpin(cx)
                } else {
                    sink.poll_flush_unpin(cx)
                }), if writing || self.unflushed => {
                    self.stuck_since = None;
                    ready?;
                    if !writing {
                        self.unflushed = false;
                    } else if std::mem::take(&mut self.ping) {
                        self.start(Message::Ping(Default::default()))?;
                    } else {
                        return Ok(Activity::Writable);
                    }
                }
                message = self.stream.next(), if read => {
                    self.received(Instant::now());
                    if let Some(activity) = activity(message, &self.meter)? {
                        return Ok(activity);
                    }
                }
                () = wait_until(due) => {}
            }
        }
    }

    /// Passes the socket a message, after [`Activity::Writable`].
    ///
    /// # Errors
    /// [`ConnectionError`] when the connection ended.
    pub fn start_send(&mut self, text: Utf8Bytes) -> Result<(), ConnectionError> {
        self.start(Message::Text(text))
    }

    fn start(&mut self, message: Message) -> Result<(), ConnectionError> {
        self.unflushed = true;
        Ok(self.sink.start_send_unpin(message)?)
    }

    /// Sends a message and waits until the socket has accepted all of it.
    ///
    /// # Errors
    /// [`ConnectionError`] when the connection ended, or the socket did not accept the message in time.
    pub async fn send(&mut self, text: impl Into<Utf8Bytes>) -> Result<(), ConnectionError> {
        self.send_message(Message::Text(text.into())).await
    }

    /// Sends a close frame. The relay may still send messages before it confirms.
    ///
    /// # Errors
    /// [`ConnectionError`] as for [`send`](Self::send).
    pub async fn send_close(&mut self) -> Result<(), ConnectionError> {
        self.send_message(Message::Close(None)).await
    }

    async fn send_message(&mut self, message: Message) -> Result<(), ConnectionError> {
        let sent = timeout(self.timing.write_within, self.sink.send(message)).await;
        sent.map_err(|_elapsed| ConnectionError::Stuck)??;
        Ok(())
    }

    fn received(&mut self, now: Instant) {
        self.received_at = now;
        self.pinged_at = None;
    }

    /// Does what is due, and returns when something is due next.
    fn check(&mut self, reading: bool, now: Instant) -> Result<Option<Instant>, ConnectionError> {
        let stuck_at = self.stuck_since.map(|since| since + self.timing.write_within);
        if stuck_at.is_some_and(|at| at <= now) {
            return Err(ConnectionError::Stuck);
        }
        let silent_at = match self.pinged_at {
            _ if !reading => None,
            Some(pinged_at) => {
                let dead_at = pinged_at + self.timing.pong_within;
                if dead_at <= now {
                    return Err(ConnectionError::Silent);
                }
                Some(dead_at)
            }
            None => {
                let ping_at = self.received_at + self.timing.ping_after;
                if ping_at <= now {
                    self.ping = true;
                    self.pinged_at = Some(now);
                    Some(now + self.timing.pong_within)
                } else {
                    Some(ping_at)
                }
            }
        };
        Ok(stuck_at.into_iter().chain(silent_at).min())
    }

    fn watch_writing(&mut self, writing: bool, now: Instant) {
        if !writing && !self.unflushed {
            self.stuck_since = None;
        } else if self.stuck_since.is_none() {
            self.stuck_since = Some(now);
        }
    }
}

/// A received message; `None` for a ping or pong. The library answers pings.
fn activity(
    message: Option<Result<Message, tungstenite::Error>>,
    meter: &ReadMeter,
) -> Result<Option<Activity>, ConnectionError> {
    let Some(message) = message else { return Err(ConnectionError::Closed(String::new())) };
    let activity = match message? {
        Message::Text(text) => Activity::Text(text),
        Message::Binary(bytes) => Activity::Binary(bytes.len()),
        Message::Close(frame) => {
            let reason = frame.map(|frame| printable(&frame.reason)).unwrap_or_default();
            return Err(ConnectionError::Closed(reason));
        }
        message @ (Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {
            meter.control_frame(message.len(), Instant::now()).map_err(ConnectionError::Abuse)?;
            return Ok(None);
        }
    };
    meter.message();
    Ok(Some(activity))
}

/// Waits until `due`; forever if it is `None`.
pub async fn wait_until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => future::pending().await,
    }
}
