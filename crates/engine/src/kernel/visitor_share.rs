//! How many of so many places one visitor may hold.

use crate::Visitor;

/// One network may hold one place in so many.
const NETWORK_SHARE: usize = 8;

/// Those behind a proxy that is not trusted may hold one place in so many: anybody can say that they are one.
const PROXY_SHARE: usize = 2;

/// How many of so many places one visitor may hold; `None` when the room is their limit.
pub(crate) fn share(visitor: Visitor, places: usize) -> Option<usize> {
    let part = match visitor {
        Visitor::Network(_) => NETWORK_SHARE,
        Visitor::Proxy(_) => PROXY_SHARE,
        Visitor::Loopback => return None,
    };
    Some((places / part).max(1))
}
