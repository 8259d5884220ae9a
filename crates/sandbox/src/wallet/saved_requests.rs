//! Takes requests as they arrive, to be saved in the wallet's file.
//!
//! Relays do not keep requests. A wallet that stays connected saves those that wait for the user, so that a command in
//! another terminal does not wait until the service sends them again.

use tokio::sync::mpsc;

use super::Request;

/// Requests that may wait to be saved.
const MAX_WAITING: usize = 256;

/// Takes the requests to save.
#[derive(Debug)]
pub(super) struct RequestSaver(mpsc::Sender<Request>);

impl RequestSaver {
    /// The saver, and the requests that it takes.
    pub(super) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (sender, arrived) = mpsc::channel(MAX_WAITING);
        (Self(sender), arrived)
    }

    /// Saves a request soon. It may be one that is saved already.
    pub(super) fn save(&self, request: Request) {
        if request.asked.is_request() && self.0.try_send(request).is_err() {
            tracing::debug!("too many requests arrive at once; one is not saved");
        }
    }
}
