//! What the page of approvals needs.

use std::sync::Arc;

use usher_engine::access::KeyRing;
use usher_engine::ports::{Clock, Randomness};

/// Dependencies of the approvals page.
#[derive(Clone)]
pub struct ApprovalsOptions {
    /// Knows the names of the API keys that request payments.
    pub keys: Arc<KeyRing>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Generates the secrets of sessions.
    pub randomness: Arc<dyn Randomness>,
}
