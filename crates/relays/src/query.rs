//! Queries to one relay: short-lived relay subscriptions beside the long-lived one.

use std::collections::VecDeque;

use nostr::{Filter, Kind, PublicKey};
use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Queries that wait for one relay; a further one is not sent there.
const MOST_WAITING: usize = 64;

/// Events taken in answer to one question: one of each kind is what relays have, some keep an old one or two.
const MOST_EVENTS: u8 = 6;

/// Largest event taken, in bytes of JSON: a document of 64 KiB, escaped here and there, and its tags.
pub(crate) const MOST_EVENT_BYTES: usize = 100 * 1024;

/// What a relay said to a question.
#[derive(Debug)]
pub(crate) enum QueryReply {
    /// An event, as it came: nothing of it has been checked but its size.
    Event(String),
    /// That was all. Comes once, last, whatever happens.
    End {
        /// The relay that was asked, by the number the asker gave it.
        relay: usize,
        /// Whether it has said what it has.
        answered: bool,
    },
}

/// Asks a relay for the newest events of an author.
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
        Self { relay, author, kinds: kinds.to_vec(), until, replies, events_left: MOST_EVENTS, answered: false }
    }

    /// The `REQ` that asks it. A filter for each kind, since a relay's limit is for each filter.
    pub(crate) fn request(&self, subscription: &str) -> Utf8Bytes {
        let mut frame = vec![json!("REQ"), json!(subscription)];
        let filter = |kind: &u16| Filter::new().author(self.author).kind(Kind::from_u16(*kind)).limit(1);
        frame.extend(self.kinds.iter().map(|kind| json!(filter(kind))));
        json!(frame).to_string().into()
    }

    /// When nobody waits for the answer any more.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Whether nobody waits for the answer any more.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.until <= now || self.replies.is_closed()
    }

    /// The relay delivers an event. False when it is one too many.
    pub(crate) fn take(&mut self, event: &RawValue) -> bool {
        let Some(left) = self.events_left.checked_sub(1) else { return false };
        self.events_left = left;
        if event.get().len() <= MOST_EVENT_BYTES {
            // When nobody listens any more, nobody misses it.
            let _ = self.replies.send(QueryReply::Event(event.get().to_owned()));
        }
        true
    }

    /// The relay has said everything.
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        let _ = self.replies.send(QueryReply::End { relay: self.relay, answered: self.answered });
    }
}

/// The questions that wait for a relay.
#[derive(Debug, Default)]
pub(crate) struct QueryQueue {
    waiting: Mutex<VecDeque<Query>>,
}

impl QueryQueue {
    /// Adds a question; when there are too many, it ends unanswered.
    pub(crate) fn push(&self, query: Query) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < MOST_WAITING {
            waiting.push_back(query);
        }
    }

    /// The next one that somebody still waits for.
    pub(crate) fn pop(&self, now: Instant) -> Option<Query> {
        let mut waiting = self.waiting.lock();
        while let Some(query) = waiting.pop_front() {
            if !query.is_over(now) {
                return Some(query);
            }
        }
        None
    }

    /// The relay cannot be asked now: all end unanswered.
    pub(crate) fn clear(&self) {
        self.waiting.lock().clear();
    }
}
