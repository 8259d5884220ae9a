//! Recently sent events that the relay has not acknowledged yet.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use usher_protocol::EventId;

use crate::send_queue::Outgoing;

/// Most events kept, and most bytes: what a relay may still refuse, or lose with the connection.
const MOST: usize = 512;
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// The events sent last that the relay has not acknowledged, oldest first. Many relays accept ephemeral events without
/// an `OK`, so they leave by age.
#[derive(Debug, Default)]
pub(super) struct UnacknowledgedEvents {
    events: VecDeque<(Outgoing, Instant)>,
    bytes: usize,
}

impl UnacknowledgedEvents {
    /// An event was sent.
    pub(super) fn sent(&mut self, event: Outgoing, now: Instant, keep_for: Duration) {
        self.bytes += event.frame.len();
        self.events.push_back((event, now));
        while self.events.front().is_some_and(|(_, at)| now.saturating_duration_since(*at) > keep_for)
            || self.events.len() > MOST
            || self.bytes > MOST_BYTES
        {
            match self.events.pop_front() {
                Some((event, _)) => self.bytes = self.bytes.saturating_sub(event.frame.len()),
                None => break,
            }
        }
    }

    /// The relay acknowledged this event: the event, and when it was sent.
    pub(super) fn take(&mut self, id: EventId) -> Option<(Outgoing, Instant)> {
        // Relays acknowledge in order, so it is near the front.
        let place = self.events.iter().position(|(event, _)| event.id == id)?;
        let (event, at) = self.events.remove(place)?;
        self.bytes = self.bytes.saturating_sub(event.frame.len());
        Some((event, at))
    }

    /// Events that may have been lost when the connection broke.
    pub(super) fn lost(&mut self, now: Instant, keep_for: Duration) -> Vec<Outgoing> {
        self.bytes = 0;
        let recent = |at: &Instant| now.saturating_duration_since(*at) <= keep_for;
        self.events.drain(..).filter(|(_, at)| recent(at)).map(|(event, _)| event).collect()
    }
}
