use std::collections::VecDeque;
use std::time::Duration;

use nostr::EventId;
use tokio::time::Instant;

/// Most events kept, and most bytes.
const MAX_EVENTS: usize = 512;
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// Events that the relay has not acknowledged, oldest first. Many relays send no `OK`, so events expire.
#[derive(Debug)]
pub(super) struct UnacknowledgedEvents<E> {
    events: VecDeque<Sent<E>>,
    bytes: usize,
    keep_for: Duration,
}

#[derive(Debug)]
struct Sent<E> {
    id: EventId,
    event: E,
    bytes: usize,
    at: Instant,
}

impl<E> UnacknowledgedEvents<E> {
    pub(super) const fn new(keep_for: Duration) -> Self {
        Self { events: VecDeque::new(), bytes: 0, keep_for }
    }

    pub(super) fn sent(&mut self, id: EventId, bytes: usize, event: E, at: Instant) {
        self.bytes += bytes;
        self.events.push_back(Sent { id, event, bytes, at });
        while self.events.front().is_some_and(|sent| at.saturating_duration_since(sent.at) > self.keep_for)
            || self.events.len() > MAX_EVENTS
            || self.bytes > MAX_BYTES
        {
            let Some(forgotten) = self.events.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(forgotten.bytes);
        }
    }

    pub(super) fn take(&mut self, id: EventId) -> Option<(E, Instant)> {
        // Relays acknowledge in order, so it is near the front.
        let place = self.events.iter().position(|sent| sent.id == id)?;
        let sent = self.events.remove(place)?;
        self.bytes = self.bytes.saturating_sub(sent.bytes);
        Some((sent.event, sent.at))
    }

    pub(super) fn lost(self, now: Instant) -> Vec<E> {
        let recent = |sent: &Sent<E>| now.saturating_duration_since(sent.at) <= self.keep_for;
        self.events.into_iter().filter(recent).map(|sent| sent.event).collect()
    }
}
