//! What can go wrong on the way to relays.

/// Why nothing can be sent or heard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayClientError {
    /// There is no relay.
    #[error("there is no relay")]
    NoRelays,
    /// No relay could be reached in time.
    #[error("none of the relays could be reached: {}", .0.join(", "))]
    Unreachable(Vec<String>),
    /// Too many events are on their way to relays.
    #[error("too many events are on their way to the relays already")]
    Busy,
}
