use crate::Visitor;

/// One network may hold one place in so many.
const SHARE: usize = 8;

/// How many of so many places one visitor may hold; `None` when the room is their limit: who comes over loopback may be anybody.
pub(crate) fn share(visitor: Visitor, places: usize) -> Option<usize> {
    matches!(visitor, Visitor::Network(_)).then(|| (places / SHARE).max(1))
}
