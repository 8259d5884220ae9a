//! The counters of a relay.

use std::collections::BTreeMap;

/// What a [`QuirkyRelay`](super::QuirkyRelay) counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelayMetrics {
    /// TCP connections accepted.
    pub connections: u64,
    /// TCP connections open now.
    pub open_connections: u64,
    /// Websocket handshakes completed.
    pub handshakes: u64,
    /// Text and binary frames received, valid or not.
    pub frames: u64,
    /// REQs received.
    pub reqs: u64,
    /// CLOSEs received.
    pub closes: u64,
    /// AUTHs received.
    pub auths: u64,
    /// AUTHs received that were valid.
    pub auths_valid: u64,
    /// Subscriptions open now, over all connections.
    pub open_subscriptions: u64,
    /// The most subscriptions that one connection ever had open.
    pub most_subscriptions: u64,
    /// EVENTs received, by kind, accepted or not.
    pub events: BTreeMap<u16, u64>,
    /// EVENTs answered OK false.
    pub events_refused: u64,
    /// Junk events of the flood put into connections' queues.
    pub flooded: u64,
}

impl RelayMetrics {
    /// EVENTs received of `kind`.
    pub fn events_of(&self, kind: u16) -> u64 {
        self.events.get(&kind).copied().unwrap_or(0)
    }

    /// EVENTs received in all.
    pub fn all_events(&self) -> u64 {
        self.events.values().sum()
    }
}
