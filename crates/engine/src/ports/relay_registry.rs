//! The relay registry port: the service's relays, which can be changed at run time.

use async_trait::async_trait;

use super::StoreError;
use crate::UnixMillis;

/// Shows, adds and removes relays at run time, durably. The *difference* to the configured relays is stored, so later
/// changes of the configuration still apply.
#[async_trait]
pub trait RelayRegistry: Send + Sync {
    /// The status of each relay: the service's in the order of handshake URLs, then users', by address.
    fn relays(&self) -> Vec<RelayInfo>;

    /// Adds a relay of the service, unless it is one already. Durable when this returns: new handshake URLs name it,
    /// and unanswered requests are sent to it once it has our subscription. Waits briefly for the connection, so that
    /// the result shows whether it works; a relay that is down is added, too. `public_only` restricts it to public
    /// addresses, whatever its name resolves to at any time.
    ///
    /// # Errors
    /// [`RelayChangeError`]; nothing has changed then.
    async fn add(&self, url: &str, public_only: bool) -> Result<RelayInfo, RelayChangeError>;

    /// Removes one of the service's relays after sending its queued events. Returns its last state. A relay that a user
    /// named is still used for that user.
    ///
    /// # Errors
    /// [`RelayChangeError`]; nothing has changed then.
    async fn remove(&self, url: &str) -> Result<RelayInfo, RelayChangeError>;
}

/// The status of one relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayInfo {
    /// Its address, normalised: scheme and host in lower case, no default port, no slash for an empty path.
    pub url: String,
    /// Its origin.
    pub origin: RelayOrigin,
    /// Whether it is connected.
    pub state: RelayLinkState,
    /// Since when it is in this state; `None` during the first attempt.
    pub since: Option<UnixMillis>,
    /// Why it is disconnected, or the relay's reason for a refusal: one line, bounded.
    pub reason: Option<String>,
    /// Whether it has confirmed our subscription, so that wallets' messages reach us.
    pub subscribed: bool,
    /// Events waiting to be sent to it.
    pub queued: usize,
}

usher_protocol::words! {
    /// The origin of a relay.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RelayOrigin {
        /// The operator, in the configuration.
        Configured = "configured",
        /// The operator, at run time.
        Added = "added",
        /// A user, while a reply is awaited.
        User = "user",
    }
}

usher_protocol::words! {
    /// The state of the connection to a relay.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RelayLinkState {
        /// The first attempt is in progress.
        Connecting = "connecting",
        /// Connected.
        Connected = "connected",
        /// Not connected; retried with growing pauses.
        Disconnected = "disconnected",
    }
}

/// Why the service's relays were not changed.
#[derive(Debug, thiserror::Error)]
pub enum RelayChangeError {
    /// Not a relay address; the text has the reason and may be shown to the caller.
    #[error("{0}")]
    Invalid(String),
    /// The maximum is reached.
    #[error("there may be at most {most} relays; remove one first")]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// It is not one of the service's relays.
    #[error("this is none of the service's relays")]
    NotFound,
    /// It could not be made durable.
    #[error(transparent)]
    Store(#[from] StoreError),
}
