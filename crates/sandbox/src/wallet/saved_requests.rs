//! Takes requests as they arrive, to be saved in the wallet's file: relays do not keep them, and a command in another
//! terminal need not wait for a repetition.

use tokio::sync::mpsc;

use super::Request;

/// Requests that may wait to be saved.
const MAX_WAITING: usize = 256;

#[derive(Debug)]
pub(super) struct RequestSaver(mpsc::Sender<Option<Request>>);

impl RequestSaver {
    pub(super) fn new() -> (Self, mpsc::Receiver<Option<Request>>) {
        let (sender, arrived) = mpsc::channel(MAX_WAITING);
        (Self(sender), arrived)
    }

    /// Saves a request soon. It may be one that is saved already.
    pub(super) fn save(&self, request: Request) {
        if request.content.is_request() && self.0.try_send(Some(request)).is_err() {
            tracing::debug!("too many requests arrive at once; one is not saved");
        }
    }
    pub(super) fn save_subscriptions(&self) {
        if self.0.try_send(None).is_err() {
            tracing::debug!("too many requests arrive at once; a subscription is saved with the next");
        }
    }
}
