//! Requests without a reply: what is known of them, and what is not.

use std::sync::Arc;
use std::time::Duration;

use nostr::{ClientMessage, Event, EventId, JsonUtil as _};
use tokio::sync::mpsc;
use tokio::time::sleep;
use usher_engine::ports::LightningError;

use super::client::Client;
use super::relay_task::OutgoingRequest;
use super::response::Response;

/// Responses that may come before the first is read.
const REPLIES: usize = 4;

/// What was handed to relays for one question, and its replies. Dropped, nobody waits any more, and what no socket has is
/// never written.
pub(super) struct PendingRequest<'a> {
    client: &'a Client,
    ids: Vec<EventId>,
    handed: Vec<Arc<OutgoingRequest>>,
    sender: mpsc::Sender<Result<Response, LightningError>>,
}

/// The replies to what is in flight.
pub(super) struct Responses(mpsc::Receiver<Result<Response, LightningError>>);

impl Responses {
    /// The next reply.
    pub(super) async fn next(&mut self) -> Result<Response, LightningError> {
        match self.0.recv().await {
            Some(answer) => answer,
            // Not as long as the flight holds a sender.
            None => std::future::pending().await,
        }
    }
}

impl<'a> PendingRequest<'a> {
    pub(super) fn of(client: &'a Client) -> (Self, Responses) {
        let (sender, replies) = mpsc::channel(REPLIES);
        (Self { client, ids: Vec::new(), handed: Vec::new(), sender }, Responses(replies))
    }

    /// From now on replies to this request are heard.
    pub(super) fn listen(&mut self, id: EventId) {
        self.ids.push(id);
        self.client.waiting.lock().insert(id, self.sender.clone());
    }

    /// Hands a request to every relay that is connected, void at `until` (Unix seconds); says to how many.
    pub(super) fn hand_to_all(&mut self, event: &Event, until: u64) -> usize {
        let outgoing = self.outgoing(event, until);
        self.client.hand(&outgoing)
    }

    /// Hands a request to one relay; `false` when there is none.
    pub(super) fn hand_to_one(&mut self, event: &Event, until: u64) -> bool {
        let outgoing = self.outgoing(event, until);
        self.client.hand_to_one(&outgoing)
    }

    fn outgoing(&mut self, event: &Event, until: u64) -> Arc<OutgoingRequest> {
        self.listen(event.id);
        let outgoing = OutgoingRequest::new(event.id, ClientMessage::event(event.clone()).as_json(), until);
        self.handed.push(Arc::clone(&outgoing));
        outgoing
    }

    /// Returns when no relay is connected and nothing was written: a relay may go down with a request still in its queue.
    pub(super) async fn gone(&self) {
        let mut up = self.client.shared.up.subscribe();
        let _ = up.wait_for(|up| !up.contains(&true)).await;
        sleep(Duration::from_millis(200)).await;
        if !self.take_back() {
            std::future::pending::<()>().await;
        }
    }

    /// From now on nothing of it is written; `true` when nothing was before either.
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
        let mut waiting = self.client.waiting.lock();
        for id in &self.ids {
            waiting.remove(id);
        }
        drop(waiting);
        self.take_back();
    }
}
