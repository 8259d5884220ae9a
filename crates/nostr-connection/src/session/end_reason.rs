use crate::connection::ConnectionError;
use crate::dial::DialError;

/// Why a session ended, or did not begin. Does not contain the relay's URL, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum EndReason {
    /// Connecting failed.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The connection was lost.
    #[error(transparent)]
    Lost(#[from] ConnectionError),
    /// The relay refuses to serve us.
    #[error("the relay refuses our subscription")]
    Refused,
    /// The relay sent more than its owner accepts.
    #[error("the relay floods us")]
    Flood,
    /// The relay is no longer wanted, or the service stops.
    #[error("closed by us")]
    ByUs,
}
