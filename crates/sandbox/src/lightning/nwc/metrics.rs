//! What a wallet service saw and did.

use std::collections::BTreeMap;

use super::Method;

/// What a wallet service saw and did since it was made, restarts included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NwcMetrics {
    /// Requests by method: different request events, executed or not, and copies that the handler handles
    /// ([`RequestHandler::handles_copies`](super::RequestHandler::handles_copies)).
    pub calls: BTreeMap<Method, u64>,
    /// Calls that were executed, by method.
    pub executed: BTreeMap<Method, u64>,
    /// Requests that came again under the same event id, from whatever relay.
    pub copies: u64,
    /// Calls not executed, since their `expiration` had passed when it came to act. (One that has passed already when the
    /// request arrives is not even events: `nostr-sdk` drops it.)
    pub expired: u64,
    /// Requests that could not be read: another encryption, wrong JSON, an unknown method.
    pub unreadable: u64,
    /// Answers sent.
    pub answers: u64,
    /// Notification events sent; one per encryption.
    pub notifications: u64,
}

impl NwcMetrics {
    /// Calls of a method.
    pub fn calls(&self, method: Method) -> u64 {
        self.calls.get(&method).copied().unwrap_or(0)
    }

    /// Executed calls of a method.
    pub fn executed(&self, method: Method) -> u64 {
        self.executed.get(&method).copied().unwrap_or(0)
    }

    /// Calls of all methods.
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }
}
