//! One session with one relay: the protocol on a connection, from the first relay subscription to the end.
//!
//! ```text
//! Session::next ─▶ Step::Text      ─▶ Session::receive ─▶ Received: an event, an acknowledgement, a refusal …
//!                  Step::Writable  ─▶ Session::publish: the owner's next event
//!                  Step::Subscribed: the relay has not confirmed the relay subscription in time
//! ```
//!
//! The session keeps one relay subscription open, authenticates when the relay requests it, and keeps sent events until
//! the relay acknowledges them. The owner decides what is sent, and in which order.

mod authentication;
mod end_reason;
mod options;
mod protocol;
mod received;
mod unacknowledged_events;

use nostr::{Event, EventId, JsonUtil as _};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

pub use end_reason::EndReason;
pub use options::{OnRefusal, SessionOptions, SessionTiming};
pub use protocol::Protocol;
pub use received::{Received, Verdict};

use crate::connection::{Activity, Connection, ConnectionError, Interest, wait_until};
use crate::reconnection::Quality;

/// The `EVENT` message for an event.
pub fn event_message(event: &Event) -> Utf8Bytes {
    format!("[\"EVENT\",{}]", event.as_json()).into()
}

/// An event in a session.
#[derive(Debug)]
pub enum Step {
    /// A message, for [`Session::receive`].
    Text(Utf8Bytes),
    /// A binary message of this many bytes, which the protocol does not have.
    Binary(usize),
    /// The socket is ready for an event; see [`Session::publish`].
    Writable,
    /// The relay subscription is assumed to be open, because the relay has not closed it.
    Subscribed,
}

/// A session on one connection.
pub struct Session<E> {
    connection: Connection,
    protocol: Protocol<E>,
    begun: Instant,
    is_useful: bool,
}

impl<E> Session<E> {
    /// Begins a session with the relay subscription.
    pub fn new(connection: Connection, options: SessionOptions) -> Self {
        let now = Instant::now();
        Self { connection, protocol: Protocol::new(options, now), begun: now, is_useful: false }
    }

    /// Waits for the next step: messages if the owner reads, and a writable socket if the owner has an event. Meanwhile
    /// sends what the protocol requires. Cancel-safe.
    ///
    /// # Errors
    /// [`EndReason`] when the connection ended or has to end.
    pub async fn next(&mut self, interest: Interest) -> Result<Step, EndReason> {
        loop {
            let now = Instant::now();
            let (due, is_assumed_open) = self.protocol.tick(now);
            if is_assumed_open {
                self.is_useful = true;
                return Ok(Step::Subscribed);
            }
            if self.protocol.is_refused() {
                return Err(EndReason::Refused);
            }
            let publish = interest.write && self.protocol.may_publish(now);
            let write = publish || !self.protocol.first().is_empty();
            tokio::select! {
                activity = self.connection.next(Interest { read: interest.read, write }) => match activity? {
                    Activity::Text(text) => return Ok(Step::Text(text)),
                    Activity::Binary(bytes) => return Ok(Step::Binary(bytes)),
                    Activity::Writable => match self.protocol.first().pop_front() {
                        Some(message) => self.connection.start_send(message)?,
                        None => return Ok(Step::Writable),
                    },
                },
                () = wait_until(due) => {}
            }
        }
    }

    /// Handles a message of the relay.
    pub fn receive<'t>(&mut self, text: &'t str) -> Received<'t, E> {
        let received = self.protocol.receive(text, Instant::now());
        self.is_useful |= matches!(received, Received::Subscribed);
        received
    }

    /// Sends an event, after [`Step::Writable`], and keeps it until the relay acknowledges it.
    ///
    /// # Errors
    /// [`ConnectionError`] when the connection ended.
    pub fn publish(&mut self, id: EventId, message: Utf8Bytes, event: E) -> Result<(), ConnectionError> {
        self.protocol.sent(id, message.len(), event, Instant::now());
        self.connection.start_send(message)
    }

    /// The state of the protocol.
    pub const fn protocol(&mut self) -> &mut Protocol<E> {
        &mut self.protocol
    }

    /// After a broken connection: the events that may have been lost, oldest first.
    pub fn lost(self) -> Vec<E> {
        self.protocol.lost(Instant::now())
    }

    /// The connection, to send what needs no acknowledgement, and to close it.
    pub const fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Records that something useful was received, other than the confirmation of the relay subscription.
    pub const fn note_useful(&mut self) {
        self.is_useful = true;
    }

    /// When the connection becomes healthy, if ever.
    pub fn healthy_at(&self) -> Option<Instant> {
        self.is_useful.then(|| self.begun + self.connection.timing().healthy_after)
    }

    /// The quality of a connection that ends for this reason.
    pub fn quality(&self, reason: &EndReason) -> Quality {
        match reason {
            EndReason::Flood | EndReason::Lost(ConnectionError::Abuse(_)) => Quality::Abusive,
            _ if self.is_useful && self.begun.elapsed() >= self.connection.timing().worked_after => Quality::Worked,
            _ => Quality::Failed,
        }
    }
}
