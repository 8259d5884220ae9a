//! The status of relays.

use usher_engine::UnixMillis;

use crate::relay_address::RelayAddress;

/// The status of one relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayStatus {
    /// Its address.
    pub url: RelayAddress,
    /// Whose relay it is.
    pub origin: Origin,
    /// The state of its connection.
    pub state: RelayState,
    /// Whether it has confirmed our subscription or delivered an event on it.
    pub subscribed: bool,
    /// What the relay currently refuses and why, in its own words.
    pub refusal: Option<String>,
    /// Events waiting to be sent to it.
    pub queued: usize,
}

/// Whose relay it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The operator's.
    Configured,
    /// A user's, while a reply is awaited.
    User,
}

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayState {
    /// The first attempt is in progress.
    Connecting,
    /// Connected.
    Connected {
        /// Since when.
        since: UnixMillis,
    },
    /// Not connected; retried with growing pauses.
    Disconnected {
        /// Since when.
        since: UnixMillis,
        /// Why.
        reason: String,
    },
}

impl RelayState {
    /// Whether it is connected.
    pub const fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// One word, as in the HTTP API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected { .. } => "connected",
            Self::Disconnected { .. } => "disconnected",
        }
    }
}
