//! Reading events: polls and long polls.
//!
//! The common poll asks an open stream for what is not there yet; it is answered from the index, without the store.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;

use super::damage::Damaged;
use super::{Engine, EventsError};
use crate::event::Event;
use crate::{EventPage, StreamId};

/// Streams that have just finished, whole: their apps are about to ask.
pub(super) struct Finished(Mutex<LruCache<StreamId, Arc<[Event]>>>);

/// How many finished streams are kept in memory.
const FINISHED_STREAMS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// Largest finished stream kept in memory, in bytes of event data: 4096 of them are at most 16 MiB.
const FINISHED_BYTES: usize = 4096;

impl Default for Finished {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(FINISHED_STREAMS)))
    }
}

impl Finished {
    fn get(&self, stream: StreamId) -> Option<Arc<[Event]>> {
        self.0.lock().get(&stream).cloned()
    }

    /// Keeps the events of a finished stream, when they are few.
    pub(super) fn put(&self, stream: StreamId, events: &[Event]) {
        let bytes: usize = events.iter().map(|event| event.data.len() + size_of::<Event>()).sum();
        if bytes <= FINISHED_BYTES {
            self.0.lock().put(stream, events.into());
        }
    }

    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

impl Engine {
    /// Up to `limit` events of `stream` with `index >= after`; answers at once.
    ///
    /// Events that were removed after their retention are never passed over silently: with `after` 0 the page begins at the
    /// first that is left and says so, with another it is an error.
    ///
    /// # Errors
    /// [`EventsError`].
    pub async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<EventPage, EventsError> {
        if let Some(open) = self.index.get(stream) {
            if after >= open.next_index || limit == 0 {
                let done = open.done && after >= open.next_index;
                return Ok(EventPage { events: Vec::new(), next: after, first: None, done });
            }
            let events = self.read_events(stream, after, limit).await?;
            return Ok(page(events, after, open.done.then_some(open.next_index)));
        }
        if let Some(events) = self.finished.get(stream) {
            let end = events.len() as u64;
            let events = events.iter().filter(|event| event.index >= after).take(limit).cloned().collect();
            return Ok(page(events, after, Some(end)));
        }
        let stored = self.store.operation(stream).await?.ok_or(EventsError::NotFound)?;
        let events = self.read_events(stream, after, limit).await?;
        // It may have finished since the index was asked; the next call says so.
        let end = stored.done.then_some(stored.next_index);
        if stored.finished_at.is_some() && end == Some(events.len() as u64) && after == 0 {
            self.finished.put(stream, &events);
        }
        Ok(page(events, after, end))
    }

    async fn read_events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, EventsError> {
        let events = self.readable_events(stream, after, limit).await?;
        let first = match &events {
            Ok(events) => events.first().map(|event| event.index),
            Err(Damaged(index)) => Some(*index),
        };
        match first {
            Some(first) if first > after && after > 0 => Err(EventsError::Removed { first }),
            _ => events.map_err(|Damaged(index)| EventsError::Damaged { index }),
        }
    }

    /// As [`events`](Self::events), but when there is none yet and more are expected, waits for one up to `wait`.
    ///
    /// When the engine stops, it answers at once with what there is.
    ///
    /// # Errors
    /// [`EventsError`].
    pub async fn wait_events(
        &self,
        stream: StreamId,
        after: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<EventPage, EventsError> {
        let page = self.events(stream, after, limit).await?;
        if !page.events.is_empty() || page.done || wait.is_zero() {
            return Ok(page);
        }
        let began = self.clock.monotonic();
        let waiter = self.waiters.join(stream);
        loop {
            let notified = waiter.notify.notified();
            tokio::pin!(notified);
            // Enabled before looking, so that an event between the look and the wait is not missed.
            notified.as_mut().enable();
            let page = self.events(stream, after, limit).await?;
            let left = wait.saturating_sub(self.clock.monotonic().saturating_sub(began));
            if !page.events.is_empty() || page.done || left.is_zero() {
                return Ok(page);
            }
            tokio::select! {
                () = notified => {}
                () = self.clock.sleep(left) => {}
                () = self.stop.cancelled() => return Ok(page),
            }
        }
    }
}

fn page(events: Vec<Event>, after: u64, end: Option<u64>) -> EventPage {
    let next = events.last().map_or(after, |event| event.index + 1);
    let first = events.first().map(|event| event.index).filter(|first| *first > after);
    EventPage { events, next, first, done: end.is_some_and(|end| next >= end) }
}
