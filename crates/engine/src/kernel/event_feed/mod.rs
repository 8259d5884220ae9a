//! Events for readers: polls, long polls and the live feed. A poll for an event that does not exist yet, the most
//! common one, is answered from the index, without the store.

mod finished_streams;
mod live_feed;
mod waiters;

use std::time::Duration;

use self::finished_streams::FinishedStreams;
pub use self::live_feed::{Live, LiveEvent, LiveEvents};
use self::live_feed::{LiveFeed, ShownCommit};
use self::waiters::Waiters;
use super::request_errors::EventsError;
use crate::event::{Event, NewEvent};
use crate::kernel::core::Core;
use crate::ports::{StoreError, Table};
use crate::registry::Operation;
use crate::{EventPage, Origin, Requester, StreamId};

/// A stream that the requester may see, if it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownStream {
    stream: StreamId,
    /// Whether its reader sees tickets, which are money.
    has_tickets: bool,
}

impl ShownStream {
    /// The service itself sees every stream ([`Requester::Service`]).
    pub const fn to_service(stream: StreamId) -> Self {
        Self { stream, has_tickets: true }
    }

    /// Its id.
    pub const fn id(self) -> StreamId {
        self.stream
    }
}

/// Serves events to readers, and wakes waiting ones.
pub struct EventFeed {
    core: Core,
    finished: FinishedStreams,
    waiters: Waiters,
    live: LiveFeed,
}

impl EventFeed {
    pub(crate) fn new(core: Core) -> Self {
        Self { core, finished: FinishedStreams::default(), waiters: Waiters::default(), live: LiveFeed::default() }
    }

    /// Begins a commit, which ends when the result is dropped.
    pub(crate) fn begin_commit(&self) -> ShownCommit<'_> {
        self.live.begin()
    }

    pub(crate) fn publish(&self, stream: StreamId, origin: Option<Origin>, next_index: u64, events: &[NewEvent]) {
        self.waiters.wake(stream);
        self.live.show(stream, origin, next_index, events);
    }

    /// Wakes readers of `stream`, which ended without an event.
    pub(crate) fn end(&self, stream: StreamId) {
        self.waiters.wake(stream);
    }

    pub(crate) fn keep_finished(&self, stream: StreamId, events: &[Event]) {
        self.finished.put(stream, events, self.finished.cleared());
    }

    /// Clears the cache, after old streams were removed from the store.
    pub(crate) fn forget_finished(&self) {
        self.finished.clear();
    }

    /// The events committed from now on, in order within a stream, of every stream that the requester may see.
    pub fn live(&self, requester: Requester) -> LiveEvents {
        self.live.subscribe(requester)
    }

    /// The stream for this requester: one that is hidden from them is [not found](EventsError::NotFound).
    pub async fn shown(&self, requester: &Requester, stream: StreamId) -> Result<ShownStream, EventsError> {
        if self.core.store.shows(requester, stream).await? {
            Ok(ShownStream { stream, has_tickets: requester.sees_tickets() })
        } else {
            Err(EventsError::NotFound)
        }
    }

    /// Up to `limit` events of `stream` with `index >= after`; returns at once. With `after` 0, the page begins at the
    /// first event that was not removed after its retention, and has its index; another value before that is an error.
    pub async fn read(&self, shown: ShownStream, after: u64, limit: usize) -> Result<EventPage, EventsError> {
        let mut page = self.read_all(shown.stream, after, limit).await?;
        if !shown.has_tickets {
            page.events.iter_mut().for_each(Event::hide_ticket);
        }
        Ok(page)
    }

    async fn read_all(&self, stream: StreamId, after: u64, limit: usize) -> Result<EventPage, EventsError> {
        if let Some(open) = self.core.index.get(stream) {
            let is_new = after < open.next_index && limit > 0;
            let events = if is_new { self.read_events(stream, after, limit).await? } else { Vec::new() };
            let page = page(events, after, open.next_index, open.done);
            return if page.done { self.with_late_payment(stream, page).await } else { Ok(page) };
        }
        if let Some(events) = self.finished.get(stream) {
            let end = events.len() as u64;
            let events = events.iter().filter(|event| event.index >= after).take(limit).cloned().collect();
            return Ok(page(events, after, end, true));
        }
        let cleared = self.finished.cleared();
        let (stored, events) = match self.core.store.operation_and_events(stream, after, limit).await {
            Ok(found) => found.ok_or(EventsError::NotFound)?,
            Err(StoreError::Unreadable(_)) => {
                // It is not open, so no more events follow.
                self.core.damaged_rows.set_aside(Table::Operations, stream);
                let events = self.read_events(stream, after, limit).await?;
                let done = events.len() < limit;
                return Ok(page(events, after, after, done));
            }
            Err(failure) => return Err(failure.into()),
        };
        let events = self.readable(stream, after, events)?;
        // If it finished since the index was read, the next request reports it.
        let end = stored.done.then_some(stored.next_index);
        // One without events may be removed at any time.
        if stored.finished_at.is_some() && end == Some(events.len() as u64) && after == 0 && !events.is_empty() {
            self.finished.put(stream, &events, cleared);
        }
        Ok(page(events, after, stored.next_index, stored.done))
    }

    /// The last page of an operation that is still open, because it waits for late money.
    async fn with_late_payment(&self, stream: StreamId, page: EventPage) -> Result<EventPage, EventsError> {
        let stored = match self.core.store.operation(&Requester::Service, stream).await {
            Ok(Some(stored)) => stored,
            // Removed or damaged: no more events follow.
            Ok(None) | Err(StoreError::Unreadable(_)) => return Ok(page),
            Err(failure) => return Err(failure.into()),
        };
        // If it was paid since the index was read, the next request has the event.
        let done = stored.next_index <= page.next;
        let late_until = Operation::from_state(&stored.state).ok().and_then(|operation| operation.paid_late_until());
        Ok(EventPage { done, paid_late_until: late_until.filter(|_| done), ..page })
    }

    /// The events up to the first damaged one; an error if that is the first of all.
    async fn read_events(&self, stream: StreamId, after: u64, limit: usize) -> Result<Vec<Event>, EventsError> {
        self.readable(stream, after, self.core.store.events(stream, after, limit).await)
    }

    fn readable(
        &self,
        stream: StreamId,
        after: u64,
        read: Result<Vec<Event>, StoreError>,
    ) -> Result<Vec<Event>, EventsError> {
        let (first, events) = match read {
            Ok(events) => (events.first().map(|event| event.index), Ok(events)),
            Err(StoreError::DamagedEvent { index }) => {
                self.core.damaged_rows.set_aside(Table::Events, format_args!("{stream}:{index}"));
                (Some(index), Err(EventsError::Damaged { index }))
            }
            Err(failure) => return Err(failure.into()),
        };
        match first {
            Some(first) if first > after && after > 0 => Err(EventsError::Removed { first }),
            _ => events,
        }
    }

    /// Like [`read`](Self::read), but waits up to `wait` for an event if there is none yet and more are expected.
    /// Returns at once when the engine stops.
    pub async fn wait(
        &self,
        stream: ShownStream,
        after: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<EventPage, EventsError> {
        let page = self.read(stream, after, limit).await?;
        if !page.events.is_empty() || page.done || wait.is_zero() {
            return Ok(page);
        }
        let began = self.core.clock.monotonic();
        let waiter = self.waiters.join(stream.stream);
        loop {
            let notified = waiter.notify.notified();
            tokio::pin!(notified);
            // Enabled before reading, so that an event before the wait is not missed.
            notified.as_mut().enable();
            let page = self.read(stream, after, limit).await?;
            let left = wait.saturating_sub(self.core.clock.monotonic().saturating_sub(began));
            if !page.events.is_empty() || page.done || left.is_zero() {
                return Ok(page);
            }
            tokio::select! {
                () = notified => {}
                () = self.core.clock.sleep(left) => {}
                () = self.core.tasks.stopped() => return Ok(page),
            }
        }
    }
}

/// A page of a stream whose events ended at `end` when they were read.
fn page(events: Vec<Event>, after: u64, end: u64, done: bool) -> EventPage {
    let next = events.last().map_or(after, |event| event.index + 1);
    let end = events.last().map_or(end, |last| end.max(last.index + 1));
    let first = events.first().map(|event| event.index).filter(|first| *first > after);
    EventPage { events, next, end, first, done: done && next >= end, paid_late_until: None }
}
