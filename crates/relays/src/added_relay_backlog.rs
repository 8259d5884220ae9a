//! The events sent to users in the last minute, for a relay that is added meanwhile.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use usher_engine::UnixMillis;

use crate::send_queue::Outgoing;

/// Relays may refuse older events (strfry does after 60 s). An older request reaches an added relay when the engine
/// repeats it.
const KEPT_FOR: Duration = Duration::from_secs(75);

/// Most events kept, and most bytes. The rest reaches an added relay when the engine repeats it.
const MAX_EVENTS: usize = 4096;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The latest sent events, oldest first. An added relay gets those whose reply is still awaited.
#[derive(Debug, Default)]
pub(crate) struct AddedRelayBacklog {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<(Outgoing, UnixMillis)>,
    bytes: usize,
}

impl AddedRelayBacklog {
    /// Records a sent event; its reply is awaited until `until`.
    pub(crate) fn sent(&self, event: Outgoing, until: UnixMillis) {
        let now = event.made;
        let mut inner = self.inner.lock();
        inner.bytes += event.frame.len();
        inner.events.push_back((event, until));
        inner.trim(now);
    }

    pub(crate) fn forget_old(&self, now: Instant) {
        self.inner.lock().trim(now);
    }

    /// The events whose reply is still awaited, dated `now`.
    pub(crate) fn awaited(&self, wall: UnixMillis, now: Instant) -> Vec<Outgoing> {
        let mut inner = self.inner.lock();
        inner.trim(now);
        // A repetition is usually the same event.
        let mut ids = HashSet::new();
        let awaited = inner.events.iter().filter(|(event, until)| *until > wall && ids.insert(event.id));
        awaited.map(|(event, _)| Outgoing { made: now, attempts: 0, ..event.clone() }).collect()
    }
}

impl Inner {
    fn trim(&mut self, now: Instant) {
        while self.events.front().is_some_and(|(event, _)| now.saturating_duration_since(event.made) > KEPT_FOR)
            || self.events.len() > MAX_EVENTS
            || self.bytes > MAX_BYTES
        {
            match self.events.pop_front() {
                Some((event, _)) => self.bytes = self.bytes.saturating_sub(event.frame.len()),
                None => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use usher_protocol::EventId;

    use super::*;

    fn event(number: u8, bytes: usize, made: Instant) -> Outgoing {
        let id = EventId::from_byte_array([number; 32]);
        Outgoing { id, user: None, frame: "x".repeat(bytes).into(), made, attempts: 1 }
    }

    #[test]
    fn only_awaited_events_that_were_not_repeated_are_returned() {
        let (recent, start) = (AddedRelayBacklog::default(), Instant::now());
        let (early, late) = (UnixMillis(1_000), UnixMillis(9_000));
        recent.sent(event(1, 10, start), late);
        recent.sent(event(2, 10, start + Duration::from_secs(30)), early);
        recent.sent(event(3, 10, start + Duration::from_secs(30)), late);
        let now = start + Duration::from_secs(76);
        let awaited = recent.awaited(UnixMillis(5_000), now);
        let seen: Vec<_> = awaited.iter().map(|e| (e.id.as_bytes()[0], e.made == now, e.attempts)).collect();
        assert_eq!(seen, [(3, true, 0)]);
        recent.forget_old(start + Duration::from_secs(200));
        assert!(recent.awaited(UnixMillis(0), start + Duration::from_secs(200)).is_empty());
        assert_eq!(recent.inner.lock().bytes, 0);
    }

    #[test]
    fn number_and_bytes_are_limited() {
        let (recent, now) = (AddedRelayBacklog::default(), Instant::now());
        (0..MAX_EVENTS + 10).for_each(|_| recent.sent(event(1, 1, now), UnixMillis(1)));
        assert_eq!(recent.inner.lock().events.len(), MAX_EVENTS);
        assert_eq!(recent.awaited(UnixMillis(0), now).len(), 1, "the same event is sent once");
        (0..10).for_each(|number| recent.sent(event(number, 1024 * 1024, now), UnixMillis(1)));
        assert!(recent.awaited(UnixMillis(0), now).len() <= 4);
    }
}
