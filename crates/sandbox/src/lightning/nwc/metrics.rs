use std::collections::BTreeMap;

use super::Method;

/// Metrics of a wallet service since it was created, across restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NwcMetrics {
    /// Requests by method: distinct events, and copies if the handler [handles](super::RequestHandler::handles_copies)
    /// them.
    pub calls: BTreeMap<Method, u64>,
    pub executed: BTreeMap<Method, u64>,
    /// Requests that arrived again with the same event id, from any relay.
    pub copies: u64,
    /// Calls not executed because their `expiration` had passed; those that have expired on arrival are not counted.
    pub expired: u64,
    /// Requests that could not be read: another encryption, wrong JSON, an unknown method.
    pub unreadable: u64,
    /// Responses sent.
    pub answers: u64,
    /// Notification events sent; one per encryption.
    pub notifications: u64,
}

impl NwcMetrics {
    pub fn calls(&self, method: Method) -> u64 {
        self.calls.get(&method).copied().unwrap_or(0)
    }

    pub fn executed(&self, method: Method) -> u64 {
        self.executed.get(&method).copied().unwrap_or(0)
    }

    /// Calls of all methods.
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }
}
