//! Hands requests to the connected relays, and responses to the tasks that wait for them.

use std::collections::HashMap;
use std::sync::Arc;

use nostr::EventId;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use usher_engine::ports::LightningError;

use super::relay_task::OutgoingRequest;
use super::response::Response;

/// What became of a request.
pub(super) type Outcome = Result<Response, LightningError>;

/// The queues of the relays, and the requests without a response.
pub(super) struct RequestSender {
    /// Which relays have us subscribed.
    connected: watch::Receiver<Vec<bool>>,
    queues: Vec<mpsc::Sender<Arc<OutgoingRequest>>>,
    waiting: Mutex<HashMap<EventId, mpsc::Sender<Outcome>>>,
}

impl RequestSender {
    pub(super) fn new(connected: watch::Receiver<Vec<bool>>, queues: Vec<mpsc::Sender<Arc<OutgoingRequest>>>) -> Self {
        Self { connected, queues, waiting: Mutex::default() }
    }

    /// Which relays have us subscribed, now and later.
    pub(super) fn connected(&self) -> watch::Receiver<Vec<bool>> {
        self.connected.clone()
    }

    /// Hands a request to every connected relay; returns to how many.
    pub(super) fn send_to_all(&self, request: &Arc<OutgoingRequest>) -> usize {
        let connected = self.connected.borrow().clone();
        let queues = self.queues.iter().zip(connected).filter(|(_, connected)| *connected);
        queues.filter(|(queue, _)| queue.try_send(Arc::clone(request)).is_ok()).count()
    }

    /// Hands a request to one connected relay, to `preferred` if possible. `false` when no relay takes it.
    pub(super) fn send_to_one(&self, request: &Arc<OutgoingRequest>, preferred: usize) -> bool {
        let connected = self.connected.borrow().clone();
        let order = std::iter::once(preferred).chain((0..connected.len()).filter(|relay| *relay != preferred));
        order
            .filter(|relay| connected.get(*relay) == Some(&true))
            .filter_map(|relay| self.queues.get(relay))
            .any(|queue| queue.try_send(Arc::clone(request)).is_ok())
    }

    /// From now on a response to this request goes to `waiter`.
    pub(super) fn wait_for(&self, request: EventId, waiter: mpsc::Sender<Outcome>) {
        self.waiting.lock().insert(request, waiter);
    }

    /// Nobody waits for responses to these requests any more.
    pub(super) fn stop_waiting(&self, requests: &[EventId]) {
        let mut waiting = self.waiting.lock();
        for request in requests {
            waiting.remove(request);
        }
    }

    /// Whether somebody waits for a response to this request.
    pub(super) fn is_awaited(&self, request: &EventId) -> bool {
        self.waiting.lock().contains_key(request)
    }

    /// The task that waits for a response to this request; only the first response is used.
    pub(super) fn take_waiter(&self, request: &EventId) -> Option<mpsc::Sender<Outcome>> {
        self.waiting.lock().remove(request)
    }
}
