//! Which operations this instance runs.
//!
//! Several instances may share one database one day; each operation will then belong to one of them. Everything that sets
//! an operation going asks here, and nowhere else: the queue of [inputs](super::inputs), the [alarms](super::alarms), the
//! [outbox](super::outbox), the [webhook dispatcher](super::webhook_dispatcher), and the restoration after a start.

use crate::StreamId;

/// The operations of this instance.
#[derive(Clone, Debug)]
pub(super) enum Ownership {
    /// There is one instance, and it runs all of them.
    Everything,
    #[cfg(test)]
    Only(StreamId),
}

impl Ownership {
    /// Whether this instance runs the operation.
    pub(super) fn owns(&self, id: StreamId) -> bool {
        let _ = id;
        match self {
            Self::Everything => true,
            #[cfg(test)]
            Self::Only(owned) => *owned == id,
        }
    }
}
