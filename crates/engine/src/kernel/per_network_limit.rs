use crate::ClientNetwork;

/// One network may hold one place in so many.
const SHARE: usize = 8;

/// How many of so many places one network may hold; `None` when the room is their limit: who comes over loopback may be
/// anybody.
pub(crate) fn quota(network: ClientNetwork, places: usize) -> Option<usize> {
    matches!(network, ClientNetwork::Network(_)).then(|| (places / SHARE).max(1))
}
