//! What a wallet service does with a request.

use std::fmt::Debug;
use std::sync::Arc;

use super::{NwcRequest, NwcSession};

/// Handles the requests of a wallet service.
pub trait RequestHandler: Debug + Send + Sync {
    /// Handles one request. Must not block; what takes time is [spawned](NwcSession::spawn).
    fn handle(&self, session: &Arc<NwcSession>, request: NwcRequest);

    /// Whether a request event that was received before is handled again.
    fn handles_copies(&self) -> bool {
        false
    }
}

/// Executes each request once and responds at once.
#[derive(Clone, Copy, Debug)]
pub struct HonestHandler;

impl RequestHandler for HonestHandler {
    fn handle(&self, session: &Arc<NwcSession>, request: NwcRequest) {
        if !session.expire(&request) {
            let response = session.execute(&request);
            session.respond(&request, &response);
        }
    }
}
