//! A request without a response yet: to which relays it was handed, and whether it was written.

use std::sync::Arc;
use std::time::Duration;

use nostr::{Event, EventId};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::relay_task::OutgoingRequest;
use super::request_sender::{Outcome, RequestSender};

/// Responses that may arrive before the first is read.
const MAX_RESPONSES: usize = 4;

/// The events that were handed to relays for one request. When it is dropped, nobody waits for a response any more, and
/// what was not written to a socket never will be.
pub(super) struct PendingRequest<'a> {
    sender: &'a RequestSender,
    ids: Vec<EventId>,
    handed: Vec<Arc<OutgoingRequest>>,
    waiter: mpsc::Sender<Outcome>,
}

/// The responses to a pending request.
pub(super) struct Responses(mpsc::Receiver<Outcome>);

impl Responses {
    /// The next response.
    pub(super) async fn next(&mut self) -> Outcome {
        match self.0.recv().await {
            Some(response) => response,
            // Not as long as the pending request holds a sender.
            None => std::future::pending().await,
        }
    }
}

impl<'a> PendingRequest<'a> {
    pub(super) fn new(sender: &'a RequestSender) -> (Self, Responses) {
        let (waiter, responses) = mpsc::channel(MAX_RESPONSES);
        (Self { sender, ids: Vec::new(), handed: Vec::new(), waiter }, Responses(responses))
    }

    /// From now on responses to this event are received.
    pub(super) fn listen(&mut self, id: EventId) {
        self.ids.push(id);
        self.sender.wait_for(id, self.waiter.clone());
    }

    /// Hands an event, void at `until` (Unix seconds), to every connected relay; returns to how many.
    pub(super) fn send_to_all(&mut self, event: &Event, until: u64) -> usize {
        let outgoing = self.outgoing(event, until);
        self.sender.send_to_all(&outgoing)
    }

    /// Hands an event to one relay, to `preferred` if possible; `false` when no relay takes it.
    pub(super) fn send_to_one(&mut self, event: &Event, until: u64, preferred: usize) -> bool {
        let outgoing = self.outgoing(event, until);
        self.sender.send_to_one(&outgoing, preferred)
    }

    fn outgoing(&mut self, event: &Event, until: u64) -> Arc<OutgoingRequest> {
        self.listen(event.id);
        let outgoing = OutgoingRequest::new(event, until);
        self.handed.push(Arc::clone(&outgoing));
        outgoing
    }

    /// Returns when no relay is connected and nothing was written: a relay may go down with a request still in its queue.
    pub(super) async fn lost(&self) {
        let mut connected = self.sender.connected();
        let _ = connected.wait_for(|connected| !connected.contains(&true)).await;
        sleep(Duration::from_millis(200)).await;
        if !self.take_back() {
            std::future::pending::<()>().await;
        }
    }

    /// From now on nothing of it is written; `true` when nothing was written before either.
    pub(super) fn take_back(&self) -> bool {
        let mut never_written = true;
        for outgoing in &self.handed {
            // Each of them, whatever is known of the others.
            never_written &= outgoing.take_back();
        }
        never_written
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.sender.stop_waiting(&self.ids);
        self.take_back();
    }
}
