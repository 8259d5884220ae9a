//! A request to be written to a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use nostr::{Event, EventId};
use usher_nostr_connection::{Utf8Bytes, event_message};

/// A request to be written to a socket. The task that waits for the response may withdraw it until it is written.
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) id: EventId,
    pub(crate) message: Utf8Bytes,
    /// Unix seconds at which it expires.
    until: u64,
    state: AtomicU8,
}

/// It is written to a socket, or about to be.
const WRITTEN: u8 = 1;
/// It was withdrawn.
const TAKEN_BACK: u8 = 2;

impl OutgoingRequest {
    pub(crate) fn new(event: &Event, until: u64) -> Arc<Self> {
        Arc::new(Self { id: event.id, message: event_message(event), until, state: AtomicU8::new(0) })
    }

    /// Withdraws it; `true` if it was not written.
    pub(crate) fn take_back(&self) -> bool {
        self.state.fetch_or(TAKEN_BACK, Ordering::SeqCst) & WRITTEN == 0
    }

    /// Marks it as written at `now` (Unix seconds); `false` if it must not be written any more.
    pub(crate) fn mark_written(&self, now: u64) -> bool {
        let written = |state| (state & TAKEN_BACK == 0).then_some(state | WRITTEN);
        now < self.until && self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, written).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use nostr::{EventBuilder, Keys};

    use super::*;

    fn request() -> Arc<OutgoingRequest> {
        let event = EventBuilder::text_note("").sign_with_keys(&Keys::generate()).unwrap();
        OutgoingRequest::new(&event, 100)
    }

    #[test]
    fn taken_back_in_time_it_is_never_written() {
        let request = request();
        assert!(request.take_back() && !request.mark_written(1));
        assert!(request.take_back(), "still");
    }

    #[test]
    fn once_written_its_outcome_is_unknown_and_it_is_written_to_no_further_socket() {
        let request = request();
        assert!(request.mark_written(1) && request.mark_written(1), "several relays may have it");
        assert!(!request.take_back());
        assert!(!request.mark_written(1), "but none any more");
        assert!(!request.take_back(), "however often it is asked");
    }

    #[test]
    fn a_void_request_is_not_written() {
        let request = request();
        assert!(!request.mark_written(100));
        assert!(request.take_back());
    }
}
