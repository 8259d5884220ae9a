//! Queries to one relay: short relay subscriptions beside the long-lived one.

use std::collections::VecDeque;

use nostr::{Filter, Kind, PublicKey};
use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Most queries that wait for one relay.
const MAX_WAITING: usize = 64;

/// Most events accepted for one query: relays have one of each kind, and some keep an old one or two.
const MAX_EVENTS: u8 = 6;

/// Largest event accepted, in bytes of JSON: a content of 64 KiB, partly escaped, and tags.
pub(crate) const MAX_EVENT_BYTES: usize = 100 * 1024;

/// A part of the result of a query.
#[derive(Debug)]
pub(crate) enum QueryReply {
    /// An event as received: only its size was checked.
    Event(String),
    /// The end of the result. Always sent, once and last.
    End {
        /// The relay, by the number that the caller gave it.
        relay: usize,
        /// Whether the relay sent all it has.
        answered: bool,
    },
}

/// Requests the newest events of an author from a relay.
#[derive(Debug)]
pub(crate) struct Query {
    relay: usize,
    author: PublicKey,
    kinds: Vec<u16>,
    until: Instant,
    replies: mpsc::UnboundedSender<QueryReply>,
    events_left: u8,
    answered: bool,
}

impl Query {
    pub(crate) fn new(
        relay: usize,
        author: PublicKey,
        kinds: &[u16],
        until: Instant,
        replies: mpsc::UnboundedSender<QueryReply>,
    ) -> Self {
        Self { relay, author, kinds: kinds.to_vec(), until, replies, events_left: MAX_EVENTS, answered: false }
    }

    /// Its `REQ` message. Has one filter per kind, because the limit applies to each filter.
    pub(crate) fn request(&self, subscription: &str) -> Utf8Bytes {
        let mut frame = vec![json!("REQ"), json!(subscription)];
        let filter = |kind: &u16| Filter::new().author(self.author).kind(Kind::from_u16(*kind)).limit(1);
        frame.extend(self.kinds.iter().map(|kind| json!(filter(kind))));
        json!(frame).to_string().into()
    }

    /// When nobody waits for the result any more.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Whether nobody waits for the result any more.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.until <= now || self.replies.is_closed()
    }

    /// The relay delivered an event. False when it is one too many.
    pub(crate) fn take(&mut self, event: &RawValue) -> bool {
        let Some(left) = self.events_left.checked_sub(1) else { return false };
        self.events_left = left;
        if event.get().len() <= MAX_EVENT_BYTES {
            // Fails only when nobody waits any more.
            let _ = self.replies.send(QueryReply::Event(event.get().to_owned()));
        }
        true
    }

    /// The relay has sent all it has.
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        let _ = self.replies.send(QueryReply::End { relay: self.relay, answered: self.answered });
    }
}

/// The queries that wait for a relay.
#[derive(Debug, Default)]
pub(crate) struct QueryQueue {
    waiting: Mutex<VecDeque<Query>>,
}

impl QueryQueue {
    /// Adds a query; when there are too many, it ends without a result.
    pub(crate) fn push(&self, query: Query) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < MAX_WAITING {
            waiting.push_back(query);
        }
    }

    /// The next query whose caller still waits.
    pub(crate) fn pop(&self, now: Instant) -> Option<Query> {
        let mut waiting = self.waiting.lock();
        while let Some(query) = waiting.pop_front() {
            if !query.is_over(now) {
                return Some(query);
            }
        }
        None
    }

    /// The relay is not connected: all queries end without a result.
    pub(crate) fn clear(&self) {
        self.waiting.lock().clear();
    }
}
