//! The outgoing queue of each connection.

use nostr::{Event, JsonUtil as _, SubscriptionId};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

/// Frames that may wait for one connection; then its reader is too slow and the connection is closed, as relays do.
const QUEUE: usize = 65_536;

/// The flood skips queues that are longer than this; otherwise it would only measure the queue.
const FLOOD_QUEUE: usize = 1_024;

/// A frame and when it may leave.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) at: Instant,
    pub(super) frame: Message,
}

/// A connection's queue.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    queue: mpsc::Sender<Outgoing>,
    /// Cancelled when the queue overflows: the connection is closed.
    overflow: CancellationToken,
}

impl Outbox {
    pub(super) fn new() -> (Self, mpsc::Receiver<Outgoing>, CancellationToken) {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let overflow = CancellationToken::new();
        (Self { queue, overflow: overflow.clone() }, receiver, overflow)
    }

    /// Queues a frame; if the queue is full, the connection is closed.
    pub(super) fn push(&self, at: Instant, frame: Message) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.queue.try_send(Outgoing { at, frame }) {
            self.overflow.cancel();
        }
    }

    /// As [`push`](Self::push), but only if the queue is short; returns whether it did.
    pub(super) fn push_junk(&self, at: Instant, frame: Message) -> bool {
        QUEUE - self.queue.capacity() < FLOOD_QUEUE && self.queue.try_send(Outgoing { at, frame }).is_ok()
    }
}

/// An event with its JSON text, made once for all its receivers.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) event: Event,
    pub(super) json: String,
}

impl Published {
    pub(super) fn new(event: Event) -> Self {
        let json = event.as_json();
        Self { event, json }
    }

    /// The EVENT message for one subscription.
    pub(super) fn frame(&self, subscription: &SubscriptionId) -> Message {
        let id = serde_json::Value::from(subscription.as_str());
        Message::text(format!("[\"EVENT\",{id},{}]", self.json))
    }
}
