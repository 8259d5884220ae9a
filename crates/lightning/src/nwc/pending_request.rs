//! A request without a response: to which relays it was handed, and whether it was written.

use std::sync::Arc;
use std::time::Duration;

use nostr::{Event, EventId};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::relay_task::OutgoingRequest;
use super::request_sender::{Outcome, RequestSender};

/// Responses that may arrive before the first is read.
const MAX_RESPONSES: usize = 4;

/// The events handed to relays for one request. Dropping it withdraws what was not written to a socket, and ends the
/// wait for responses.
pub(super) struct PendingRequest<'a> {
    sender: &'a RequestSender,
    ids: Vec<EventId>,
    handed: Vec<Arc<OutgoingRequest>>,
    waiter: mpsc::Sender<Outcome>,
}

pub(super) struct Responses(mpsc::Receiver<Outcome>);

impl Responses {
    pub(super) async fn next(&mut self) -> Outcome {
        match self.0.recv().await {
            Some(response) => response,
            // Does not happen while the pending request holds a sender.
            None => std::future::pending().await,
        }
    }
}

impl<'a> PendingRequest<'a> {
    pub(super) fn new(sender: &'a RequestSender) -> (Self, Responses) {
        let (waiter, responses) = mpsc::channel(MAX_RESPONSES);
        (Self { sender, ids: Vec::new(), handed: Vec::new(), waiter }, Responses(responses))
    }

    /// Accepts responses to this event from now on.
    pub(super) fn listen(&mut self, id: EventId) {
        self.ids.push(id);
        self.sender.wait_for(id, self.waiter.clone());
    }

    /// Hands an event, void at `until` (Unix seconds), to every connected relay; returns to how many.
    pub(super) fn send_to_all(&mut self, event: &Event, until: u64) -> usize {
        let outgoing = self.outgoing(event, until);
        self.sender.send_to_all(&outgoing)
    }

    /// Hands an event to one relay, to `preferred` if possible; `false` if no relay takes it.
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

    /// Returns when no relay is connected and nothing was written: a relay may go down with a request in its queue.
    pub(super) async fn lost(&self) {
        let mut connected = self.sender.connected();
        let _ = connected.wait_for(|connected| !connected.contains(&true)).await;
        sleep(Duration::from_millis(200)).await;
        if !self.take_back() {
            std::future::pending::<()>().await;
        }
    }

    /// Withdraws the request; `true` if nothing of it was written.
    pub(super) fn take_back(&self) -> bool {
        let mut never_written = true;
        for outgoing in &self.handed {
            // Withdraws each one, whatever the result for the others.
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
