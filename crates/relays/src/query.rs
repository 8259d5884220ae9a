//! Queries to one relay: short relay subscriptions beside the long-lived one.

use std::collections::VecDeque;

use nostr::{Filter, Kind, PublicKey};
use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

const MAX_WAITING: usize = 64;

/// Most events accepted for one query: relays have one of each kind, and some keep a few old ones.
const MAX_EVENTS: u8 = 6;

/// Largest event accepted, in bytes of JSON: a content of 64 KiB, partly escaped, and tags.
pub(crate) const MAX_EVENT_BYTES: usize = 100 * 1024;

/// A part of the result of a query.
#[derive(Debug)]
pub(crate) enum QueryReply {
    /// An event as received; only its size is checked.
    Event(String),
    /// The end of the result, always sent last.
    End {
        /// The relay's number, as given by the caller.
        relay: usize,
        /// Whether the relay sent `EOSE`.
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

    /// The `REQ` message, with one filter per kind because `limit` applies per filter.
    pub(crate) fn request(&self, subscription: &str) -> Utf8Bytes {
        let mut frame = vec![json!("REQ"), json!(subscription)];
        let filter = |kind: &u16| Filter::new().author(self.author).kind(Kind::from_u16(*kind)).limit(1);
        frame.extend(self.kinds.iter().map(|kind| json!(filter(kind))));
        json!(frame).to_string().into()
    }

    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.until <= now || self.replies.is_closed()
    }

    /// Handles an event; false if it exceeds the limit.
    pub(crate) fn take(&mut self, event: &RawValue) -> bool {
        let Some(left) = self.events_left.checked_sub(1) else { return false };
        self.events_left = left;
        if event.get().len() <= MAX_EVENT_BYTES {
            // Fails only when the caller has gone.
            let _ = self.replies.send(QueryReply::Event(event.get().to_owned()));
        }
        true
    }

    /// Handles `EOSE`.
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        let _ = self.replies.send(QueryReply::End { relay: self.relay, answered: self.answered });
    }
}

#[derive(Debug, Default)]
pub(crate) struct QueryQueue {
    waiting: Mutex<VecDeque<Query>>,
}

impl QueryQueue {
    /// Adds a query; if there are too many, it ends without a result.
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

    /// Ends all queries without a result: the relay is not connected.
    pub(crate) fn clear(&self) {
        self.waiting.lock().clear();
    }
}
