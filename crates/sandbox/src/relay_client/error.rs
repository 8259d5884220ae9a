/// Why events cannot be sent or received.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayClientError {
    #[error("no relays")]
    NoRelays,
    #[error("none of the relays could be reached: {}", .0.join(", "))]
    Unreachable(Vec<String>),
    #[error("too many events are waiting to be sent to the relays")]
    Busy,
}
