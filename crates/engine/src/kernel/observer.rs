//! Observers keep features' memory up to date with commits.

use async_trait::async_trait;

use crate::machine::{Effect, LinkedChange};
use crate::ports::{OpenOperation, OperationHead, Version};
use crate::registry::Operation;
use crate::{Origin, StreamId, UnixMillis};

pub(crate) struct CommittedStep<'a> {
    pub(crate) id: StreamId,
    pub(crate) origin: Option<Origin>,
    pub(crate) operation: &'a Operation,
    pub(crate) is_new: bool,
    pub(crate) is_finished: bool,
    pub(crate) has_events: bool,
    pub(crate) head: OperationHead,
    pub(crate) now: UnixMillis,
}

/// Observes the operations of a feature. Every method has a default that does nothing.
pub(crate) trait Observer: Send + Sync {
    /// Called at the start for each open operation. `read` is its version and its state, for the kinds that are read at
    /// the start ([`OperationKind::is_read_at_start`](crate::ports::OperationKind::is_read_at_start)).
    fn restored(&self, _open: &OpenOperation, _read: Option<(Version, &Operation)>, _now: UnixMillis) {}

    /// Called before unfinished operations are committed. The result is dropped after the commit, or its failure.
    fn committing(&self, _operations: &[(StreamId, &Operation)]) -> Option<Box<dyn Send>> {
        None
    }

    /// Called after a commit of the operation. A later commit may be reported first.
    fn committed(&self, _step: &CommittedStep<'_>) {}

    /// Called after the operation was committed as finished and removed from the index.
    fn finished(&self, _step: &CommittedStep<'_>) {}
}

/// Executes [`LinkedChange`]s: changes of other operations in the commit of the step that requests them.
pub(crate) trait LinkedChanges: Send + Sync {
    fn start(&self, linked_change: &LinkedChange, now: UnixMillis) -> Option<(Operation, Vec<Effect>)>;

    /// The open operations to close. Called after all others of the commit were read from the store.
    fn closes(&self, linked_change: &LinkedChange) -> Vec<StreamId>;
}

/// Periodic work of a feature, besides the cleanup of operations.
#[async_trait]
pub(crate) trait PeriodicTask: Send + Sync {
    async fn run(&self, hour: u64, now: UnixMillis);
}
