//! What the console needs.

use std::sync::Arc;

use ipnet::IpNet;
use usher_engine::access::KeyRing;
use usher_engine::ports::Clock;

/// Dependencies of the console.
#[derive(Clone)]
pub struct OperatorOptions {
    /// Knows the operators, the approvers, and their sessions.
    pub keys: Arc<KeyRing>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// The networks from which the console can be used, all if there are none (`console.networks`). `None`: there is no
    /// console.
    pub console: Option<Vec<IpNet>>,
}
