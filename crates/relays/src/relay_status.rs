//! How relays are doing.

use usher_engine::UnixMillis;

use crate::relay_address::RelayAddress;

/// How one relay is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayStatus {
    /// Its address.
    pub url: RelayAddress,
    /// Who wants it.
    pub origin: Origin,
    /// Whether it is connected.
    pub state: RelayState,
    /// Connected, and it has confirmed our subscription or delivered something on it.
    pub subscribed: bool,
    /// What the relay refuses us and why, in its own words, as long as it does.
    pub refusal: Option<String>,
    /// Events waiting to be sent to it.
    pub queued: usize,
}

/// Who wants a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The operator.
    Configured,
    /// A user, for as long as an answer is awaited.
    User,
}

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayState {
    /// The first attempt is under way.
    Connecting,
    /// Connected.
    Connected {
        /// Since when.
        since: UnixMillis,
    },
    /// Not connected; it is tried again with growing pauses.
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

    /// One word, as the HTTP interface says it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected { .. } => "connected",
            Self::Disconnected { .. } => "disconnected",
        }
    }
}
