//! The live feed: every stream's events as they are committed, for operators. It keeps nothing, and a reader that is
//! too slow misses events: an app must read its streams or use the webhook.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::StreamId;
use crate::event::{Event, NewEvent};

/// How many events a slow reader may be behind; all readers share the buffer.
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

/// A reader of the live feed, from when it was opened; dropping it closes it.
#[derive(Debug)]
pub struct LiveEvents(broadcast::Receiver<Arc<LiveEvent>>);

impl LiveEvents {
    /// Waits for the next item; `None` when the engine is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<Live> {
        match self.0.recv().await {
            Ok(event) => Some(Live::Event(event)),
            Err(RecvError::Lagged(missed)) => Some(Live::Missed(missed)),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next item if there is one already.
    pub fn ready(&mut self) -> Option<Live> {
        match self.0.try_recv() {
            Ok(event) => Some(Live::Event(event)),
            Err(TryRecvError::Lagged(missed)) => Some(Live::Missed(missed)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

pub(super) struct LiveFeed(broadcast::Sender<Arc<LiveEvent>>);

impl Default for LiveFeed {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl LiveFeed {
    pub(super) fn subscribe(&self) -> LiveEvents {
        LiveEvents(self.0.subscribe())
    }

    /// Events were committed to `stream`; `next_index` is the index after the last of them.
    pub(super) fn show(&self, stream: StreamId, next_index: u64, events: &[NewEvent]) {
        // Nobody reads: the usual case costs nothing.
        if self.0.receiver_count() == 0 {
            return;
        }
        let first = next_index.saturating_sub(events.len() as u64);
        for (index, event) in (first..).zip(events) {
            // Fails only when the last reader has just gone.
            let _ = self.0.send(Arc::new(LiveEvent { stream, event: event.clone().at_index(index) }));
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
        feed.show(StreamId::SUBSCRIPTIONS, 2, &events(2));
        let mut live = LiveEvents(feed.0.subscribe());
        assert_eq!(live.ready(), None, "what was before is not shown");
        feed.show(StreamId::SUBSCRIPTIONS, 4, &events(2));
        assert_eq!(index(live.next().await), Some(2));
        assert_eq!(index(live.ready()), Some(3));
        drop(feed);
        assert_eq!(live.next().await, None);
    }

    #[tokio::test]
    async fn slow_reader_learns_how_many_events_it_missed() {
        let feed = LiveFeed::default();
        let mut live = LiveEvents(feed.0.subscribe());
        feed.show(StreamId::SUBSCRIPTIONS, 600, &events(600));
        assert_eq!(live.next().await, Some(Live::Missed(88)));
        for expected in 88..600 {
            assert_eq!(index(live.ready()), Some(expected));
        }
        assert_eq!(live.ready(), None);
    }
}
