/// Why events cannot be sent or received.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayClientError {
    /// There is no relay.
    #[error("no relays")]
    NoRelays,
    /// No relay could be reached in time.
    #[error("none of the relays could be reached: {}", .0.join(", "))]
    Unreachable(Vec<String>),
    /// Too many events are on their way to relays.
    #[error("too many events are waiting to be sent to the relays")]
    Busy,
}
