//! What scans are counted by.

use std::sync::Arc;

use crate::StreamId;

/// Which limit refused a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanLimit {
    /// The same key a minute ago or less.
    Author,
    /// Too many over this relay.
    Relay,
    /// Too many over all relays.
    Total,
    /// Too many logins at reusable logins are open.
    Room,
}

impl ScanLimit {
    /// Every limit.
    pub const ALL: [Self; 4] = [Self::Author, Self::Relay, Self::Total, Self::Room];

    /// The limit as the label of a metric.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Author => "author",
            Self::Relay => "relay",
            Self::Total => "total",
            Self::Room => "room",
        }
    }
}

/// How many scans there were since the service started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct ScanCounts {
    pub(in crate::engine) accepted: u64,
    /// By limit, in the order of [`ScanLimit::ALL`].
    pub(in crate::engine) refused: [u64; ScanLimit::ALL.len()],
    /// Those that wait now.
    pub(in crate::engine) waiting: u64,
}

/// Scans were refused: to be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Refusals {
    /// The handshake, the limit, and the relay (`None`: a user's) of the last one.
    pub(in crate::engine) stream: StreamId,
    pub(in crate::engine) limit: ScanLimit,
    pub(in crate::engine) relay: Option<Arc<str>>,
    /// How many since the last warning, of all handshakes.
    pub(in crate::engine) count: u64,
}

impl ScanCounts {
    pub(super) fn refuse(&mut self, limit: ScanLimit) {
        if let Some(refused) = self.refused.get_mut(limit as usize) {
            *refused = refused.saturating_add(1);
        }
    }
}
