//! The live feed: every stream's events as they are committed, for operators. It stores nothing, and a slow reader
//! misses events: apps must read their streams or use the webhook.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::event::{Event, NewEvent};
use crate::{Origin, Requester, StreamId};

/// Events that a slow reader may lag behind; all readers share the buffer.
const BEHIND: usize = 512;

/// An event of the live feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveEvent {
    /// The stream.
    pub stream: StreamId,
    /// The event.
    pub event: Event,
}

/// The next item of the live feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Live {
    /// An event was committed.
    Event(Arc<LiveEvent>),
    /// The reader was too slow: this many events are missing here.
    Missed(u64),
}

/// A reader of the live feed, from its opening on; dropping it closes it.
#[derive(Debug)]
pub struct LiveEvents {
    events: broadcast::Receiver<Shown>,
    requester: Requester,
}

/// An event, and the origin of its stream.
type Shown = (Option<Origin>, Arc<LiveEvent>);

impl LiveEvents {
    /// Waits for the next item; `None` when the engine has stopped. Cancel-safe.
    pub async fn next(&mut self) -> Option<Live> {
        loop {
            match self.events.recv().await {
                Ok((origin, event)) if self.requester.sees(origin) => return Some(self.shown(event)),
                Ok(_) => {}
                Err(RecvError::Lagged(missed)) => return Some(Live::Missed(missed)),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// The next item, if available.
    pub fn ready(&mut self) -> Option<Live> {
        loop {
            match self.events.try_recv() {
                Ok((origin, event)) if self.requester.sees(origin) => return Some(self.shown(event)),
                Ok(_) => {}
                Err(TryRecvError::Lagged(missed)) => return Some(Live::Missed(missed)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
    }

    fn shown(&self, mut event: Arc<LiveEvent>) -> Live {
        if !self.requester.sees_tickets() {
            Arc::make_mut(&mut event).event.hide_ticket();
        }
        Live::Event(event)
    }
}

pub(super) struct LiveFeed {
    events: broadcast::Sender<Shown>,
    order: Mutex<Order>,
}

/// Orders the events of two commits to a stream: each waits until all commits that began earlier have ended.
#[derive(Default)]
struct Order {
    next: u64,
    running: BTreeSet<u64>,
    held: BTreeMap<(StreamId, u64), Held>,
}

struct Held {
    event: Shown,
    /// Commits with smaller numbers may have earlier events of the stream.
    after: u64,
}

/// A commit that may have events for the feed, until this is dropped.
pub(crate) struct ShownCommit<'a> {
    feed: &'a LiveFeed,
    number: u64,
}

impl Default for LiveFeed {
    fn default() -> Self {
        Self { events: broadcast::Sender::new(BEHIND), order: Mutex::default() }
    }
}

impl LiveFeed {
    pub(super) fn subscribe(&self, requester: Requester) -> LiveEvents {
        LiveEvents { events: self.events.subscribe(), requester }
    }

    pub(super) fn begin(&self) -> ShownCommit<'_> {
        let mut order = self.order.lock();
        let number = order.next;
        order.next += 1;
        order.running.insert(number);
        ShownCommit { feed: self, number }
    }

    /// Adds a pending commit's events of `stream`, started by `origin`; `next_index` follows the last one.
    pub(super) fn show(&self, stream: StreamId, origin: Option<Origin>, next_index: u64, events: &[NewEvent]) {
        // Without readers, as usual, this costs nothing.
        if self.events.receiver_count() == 0 {
            return;
        }
        let mut order = self.order.lock();
        let after = order.next;
        let first = next_index.saturating_sub(events.len() as u64);
        for (index, event) in (first..).zip(events) {
            let event = (origin, Arc::new(LiveEvent { stream, event: event.clone().at_index(index) }));
            order.held.insert((stream, index), Held { event, after });
        }
    }
}

impl Drop for ShownCommit<'_> {
    fn drop(&mut self) {
        let mut order = self.feed.order.lock();
        order.running.remove(&self.number);
        let first = order.running.first().copied().unwrap_or(u64::MAX);
        if first < self.number || order.held.is_empty() {
            return;
        }
        let mut ready = Vec::new();
        for ((stream, index), held) in order.held.iter().rev() {
            // Earlier events of the stream are sent with a later one.
            if held.after <= first || ready.last().is_some_and(|(later, _)| later == stream) {
                ready.push((*stream, *index));
            }
        }
        for held in ready.iter().rev().filter_map(|key| order.held.remove(key)) {
            // Fails only if the last reader has just gone.
            let _ = self.feed.events.send(held.event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixMillis;
    use crate::event::EventType;

    fn events(count: usize) -> Vec<NewEvent> {
        let event = NewEvent {
            event_type: EventType::StatusUpdate,
            at: UnixMillis(1000),
            data: "{}".into(),
            outcome: crate::OperationOutcome::Completed,
        };
        vec![event; count]
    }

    fn index(live: Option<Live>) -> Option<u64> {
        match live {
            Some(Live::Event(live)) => Some(live.event.index),
            _ => None,
        }
    }

    #[tokio::test]
    async fn new_events_are_shown_with_their_index() {
        let feed = LiveFeed::default();
        let show = |next_index, count| {
            let _commit = feed.begin();
            feed.show(StreamId::SUBSCRIPTIONS, None, next_index, &events(count));
        };
        show(2, 2);
        let mut live = feed.subscribe(Requester::Service);
        assert_eq!(live.ready(), None, "what was before is not shown");
        show(4, 2);
        assert_eq!(index(live.next().await), Some(2));
        assert_eq!(index(live.ready()), Some(3));
        drop(feed);
        assert_eq!(live.next().await, None);
    }

    #[test]
    fn events_of_a_stream_are_shown_in_order() {
        let feed = LiveFeed::default();
        let mut live = feed.subscribe(Requester::Service);
        let (earlier, later) = (feed.begin(), feed.begin());
        feed.show(StreamId::SUBSCRIPTIONS, None, 2, &events(1));
        drop(later);
        assert_eq!(live.ready(), None, "a commit that began before may have the first one");
        let failed = feed.begin();
        feed.show(StreamId::SUBSCRIPTIONS, None, 1, &events(1));
        drop(earlier);
        assert_eq!((index(live.ready()), index(live.ready())), (Some(0), Some(1)));
        feed.show(StreamId::SUBSCRIPTIONS, None, 3, &events(1));
        drop(failed);
        assert_eq!(index(live.ready()), Some(2));
        assert!(feed.order.lock().held.is_empty() && feed.order.lock().running.is_empty());
    }

    #[tokio::test]
    async fn slow_reader_learns_how_many_events_it_missed() {
        let feed = LiveFeed::default();
        let mut live = feed.subscribe(Requester::Service);
        let commit = feed.begin();
        feed.show(StreamId::SUBSCRIPTIONS, None, 600, &events(600));
        drop(commit);
        assert_eq!(live.next().await, Some(Live::Missed(88)));
        for expected in 88..600 {
            assert_eq!(index(live.ready()), Some(expected));
        }
        assert_eq!(live.ready(), None);
    }
}
