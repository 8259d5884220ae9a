//! Hands requests to the connected relays, and responses to the tasks that wait for them.

use std::collections::HashMap;
use std::sync::Arc;

use nostr::EventId;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use usher_engine::ports::LightningError;

use super::relay_task::OutgoingRequest;
use super::response::Response;

pub(super) type Outcome = Result<Response, LightningError>;

pub(super) struct RequestSender {
    connected: watch::Receiver<Vec<bool>>,
    queues: Vec<mpsc::Sender<Arc<OutgoingRequest>>>,
    waiting: Mutex<HashMap<EventId, mpsc::Sender<Outcome>>>,
}

impl RequestSender {
    pub(super) fn new(connected: watch::Receiver<Vec<bool>>, queues: Vec<mpsc::Sender<Arc<OutgoingRequest>>>) -> Self {
        Self { connected, queues, waiting: Mutex::default() }
    }

    pub(super) fn connected(&self) -> watch::Receiver<Vec<bool>> {
        self.connected.clone()
    }

    /// Hands a request to every connected relay; returns to how many.
    pub(super) fn send_to_all(&self, request: &Arc<OutgoingRequest>) -> usize {
        let connected = self.connected.borrow().clone();
        let queues = self.queues.iter().zip(connected).filter(|(_, connected)| *connected);
        queues.filter(|(queue, _)| queue.try_send(Arc::clone(request)).is_ok()).count()
    }

    /// Hands a request to one connected relay, to `preferred` if possible; `false` if no relay takes it.
    pub(super) fn send_to_one(&self, request: &Arc<OutgoingRequest>, preferred: usize) -> bool {
        let connected = self.connected.borrow().clone();
        let order = std::iter::once(preferred).chain((0..connected.len()).filter(|relay| *relay != preferred));
        order
            .filter(|relay| connected.get(*relay) == Some(&true))
            .filter_map(|relay| self.queues.get(relay))
            .any(|queue| queue.try_send(Arc::clone(request)).is_ok())
    }

    /// Sends responses to this request to `waiter` from now on.
    pub(super) fn wait_for(&self, request: EventId, waiter: mpsc::Sender<Outcome>) {
        self.waiting.lock().insert(request, waiter);
    }

    pub(super) fn stop_waiting(&self, requests: &[EventId]) {
        let mut waiting = self.waiting.lock();
        for request in requests {
            waiting.remove(request);
        }
    }

    pub(super) fn is_awaited(&self, request: &EventId) -> bool {
        self.waiting.lock().contains_key(request)
    }

    /// Takes the task that waits for this response; only the first response is used.
    pub(super) fn take_waiter(&self, request: &EventId) -> Option<mpsc::Sender<Outcome>> {
        self.waiting.lock().remove(request)
    }
}
