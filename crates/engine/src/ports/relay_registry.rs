//! The relay registry port: our relays, changed while the service runs.

use async_trait::async_trait;

use super::StoreError;
use crate::UnixMillis;

/// Shows, adds and removes relays at run time, durably. The *difference* to the configured relays is stored, so a later
/// change of the configuration still has effect.
#[async_trait]
pub trait RelayRegistry: Send + Sync {
    /// How each relay is doing: ours in the order of handshake URLs, then those of users, by address.
    fn relays(&self) -> Vec<RelayInfo>;

    /// Adds a relay of the service; if it is there already, nothing changes. Durable when this returns: new handshake
    /// URLs name it, and unanswered requests go to it once it has our subscription. Waits a moment for the connection,
    /// so that the result shows whether it works; a relay that is down is added as well. With `public_only` it may lead to the
    /// public Internet alone, whatever its name resolves to and whenever.
    ///
    /// # Errors
    /// [`RelayChangeError`]; nothing has been changed then.
    async fn add(&self, url: &str, public_only: bool) -> Result<RelayInfo, RelayChangeError>;

    /// Removes one of the service's relays after its queued events have been sent. Other relays are not affected. Returns its
    /// last state. A relay that a user named is still used for that user.
    ///
    /// # Errors
    /// [`RelayChangeError`]; nothing has been changed then.
    async fn remove(&self, url: &str) -> Result<RelayInfo, RelayChangeError>;
}

/// How one relay is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayInfo {
    /// Its address, normalised: scheme and host in lower case, no default port, no slash for an empty path.
    pub url: String,
    /// Who wants it.
    pub origin: RelayOrigin,
    /// Whether it is connected.
    pub state: RelayLinkState,
    /// Since when it is in this state; none while the first attempt is under way.
    pub since: Option<UnixMillis>,
    /// Why it is disconnected, or the reason that the relay gave for a refusal: one line, bounded.
    pub reason: Option<String>,
    /// It has confirmed our subscription: what wallets send there reaches us.
    pub subscribed: bool,
    /// Events waiting to be sent to it.
    pub queued: usize,
}

/// Who wants a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelayOrigin {
    /// The operator, in the configuration.
    Configured,
    /// The operator, at run time.
    Added,
    /// A user, for as long as a reply is awaited.
    User,
}

impl RelayOrigin {
    /// One word, as the HTTP interface says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Added => "added",
            Self::User => "user",
        }
    }
}

/// The state of the connection to a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelayLinkState {
    /// The first attempt is under way.
    Connecting,
    /// Connected.
    Connected,
    /// Not connected; it is tried again with growing pauses.
    Disconnected,
}

impl RelayLinkState {
    /// One word, as the HTTP interface says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
        }
    }
}

/// Why our relays have not been changed.
#[derive(Debug, thiserror::Error)]
pub enum RelayChangeError {
    /// Not the address of a relay; the text says why and is fit for the caller's eyes.
    #[error("{0}")]
    Invalid(String),
    /// There are as many as there may be.
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
