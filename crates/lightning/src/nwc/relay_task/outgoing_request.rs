//! A request on its way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use nostr::EventId;

/// A request on its way: whoever waits for the answer may take it back until a socket has it.
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) id: EventId,
    pub(crate) text: String,
    /// Unix seconds from which it is void.
    until: u64,
    state: AtomicU8,
}

/// A socket has it, or is about to.
const WRITTEN: u8 = 1;
/// Nobody waits for the answer any more.
const LEFT: u8 = 2;

impl OutgoingRequest {
    pub(crate) fn new(id: EventId, text: String, until: u64) -> Arc<Self> {
        Arc::new(Self { id, text, until, state: AtomicU8::new(0) })
    }

    /// Takes it back: no socket gets it from now on. `true` when none has had it before either.
    pub(crate) fn take_back(&self) -> bool {
        self.state.fetch_or(LEFT, Ordering::SeqCst) & WRITTEN == 0
    }

    /// Says that a socket is about to have it, at this time (Unix seconds): `false` when none may any more.
    pub(crate) fn begin(&self, now: u64) -> bool {
        let written = |state| (state & LEFT == 0).then_some(state | WRITTEN);
        now < self.until && self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, written).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Arc<OutgoingRequest> {
        OutgoingRequest::new(EventId::all_zeros(), String::new(), 100)
    }

    #[test]
    fn taken_back_in_time_no_socket_has_it() {
        let request = request();
        assert!(request.take_back() && !request.begin(1));
        assert!(request.take_back(), "still");
    }

    #[test]
    fn once_written_it_is_not_known_and_no_other_socket_has_it() {
        let request = request();
        assert!(request.begin(1) && request.begin(1), "several relays may have it");
        assert!(!request.take_back());
        assert!(!request.begin(1), "but none any more");
        assert!(!request.take_back(), "however often it is asked");
    }

    #[test]
    fn void_it_is_not_written() {
        let request = request();
        assert!(!request.begin(100));
        assert!(request.take_back());
    }
}
