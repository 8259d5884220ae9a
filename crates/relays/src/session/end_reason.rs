//! Why sessions end.

use usher_nostr_connection::ConnectionError;

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndReason {
    /// The relay is no longer wanted, or the service stops.
    #[error("closed by us")]
    ByUs,
    /// The connection was lost.
    #[error(transparent)]
    Lost(ConnectionError),
    /// A user's relay sent too many useless messages.
    #[error("the relay floods us")]
    Flood,
}
