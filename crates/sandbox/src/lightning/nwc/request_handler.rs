use std::fmt::Debug;
use std::sync::Arc;

use super::{NwcRequest, NwcServiceContext};

/// Handles the requests of a wallet service.
pub trait RequestHandler: Debug + Send + Sync {
    /// Handles one request. Must not block; what takes time is [spawned](NwcServiceContext::spawn).
    fn handle(&self, context: &Arc<NwcServiceContext>, request: NwcRequest);

    /// Whether a request event that was received before is handled again.
    fn handles_copies(&self) -> bool {
        false
    }
}

/// Executes each request once and responds at once.
#[derive(Clone, Copy, Debug)]
pub struct HonestHandler;

impl RequestHandler for HonestHandler {
    fn handle(&self, context: &Arc<NwcServiceContext>, request: NwcRequest) {
        if !context.expire(&request) {
            let response = context.execute(&request);
            context.respond(&request, &response);
        }
    }
}
