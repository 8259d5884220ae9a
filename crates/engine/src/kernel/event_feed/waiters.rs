//! Readers waiting for a stream's next event. Only streams with waiting readers need memory.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::StreamId;

#[derive(Default)]
pub(super) struct Waiters(Mutex<HashMap<StreamId, Arc<Notify>>>);

pub(super) struct Waiter<'a> {
    waiters: &'a Waiters,
    stream: StreamId,
    pub(super) notify: Arc<Notify>,
}

impl Waiters {
    pub(super) fn join(&self, stream: StreamId) -> Waiter<'_> {
        let notify = Arc::clone(self.0.lock().entry(stream).or_default());
        Waiter { waiters: self, stream, notify }
    }

    pub(super) fn wake(&self, stream: StreamId) {
        // Not cloned, because the last waiter to leave is recognised by the reference count.
        if let Some(notify) = self.0.lock().get(&stream) {
            notify.notify_waiters();
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiters = self.waiters.0.lock();
        // This reference and the one in the map: no other reader waits.
        if Arc::strong_count(&self.notify) <= 2 {
            waiters.remove(&self.stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_without_waiters_is_removed() {
        let waiters = Waiters::default();
        let (first, second) = (waiters.join(StreamId::SUBSCRIPTIONS), waiters.join(StreamId::SUBSCRIPTIONS));
        drop(first);
        waiters.wake(StreamId::SUBSCRIPTIONS);
        assert_eq!(waiters.0.lock().len(), 1);
        drop(second);
        assert_eq!(waiters.0.lock().len(), 0);
    }
}
