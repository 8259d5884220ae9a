//! What a feature keeps in memory about its operations, in step with their commits.

use async_trait::async_trait;

use crate::operations::{Effect, LinkedChange, Operation};
use crate::ports::{OpenOperation, OperationHead, Version};
use crate::{Origin, StreamId, UnixMillis};

pub(crate) struct CommittedStep<'a> {
    pub(crate) id: StreamId,
    /// Who started it.
    pub(crate) origin: Option<Origin>,
    pub(crate) operation: &'a Operation,
    pub(crate) is_new: bool,
    pub(crate) is_finished: bool,
    pub(crate) has_events: bool,
    pub(crate) head: OperationHead,
    pub(crate) now: UnixMillis,
}

/// Follows the operations of a feature. Every method has a default that does nothing.
pub(crate) trait Observer: Send + Sync {
    /// The start has found this open operation. `read` is its version and its state, of the kinds that are read at the start
    /// ([`StateMachine::is_read_at_start`](crate::operations::StateMachine::is_read_at_start)).
    fn restored(&self, _open: &OpenOperation, _read: Option<(Version, &Operation)>, _now: UnixMillis) {}

    /// Unfinished operations are about to be committed. The result is dropped when that is applied or has failed.
    fn committing(&self, _operations: &[(StreamId, &Operation)]) -> Option<Box<dyn Send>> {
        None
    }

    /// The operation was committed. A later commit of it may have arrived here first.
    fn committed(&self, _step: &CommittedStep<'_>) {}

    /// The operation was committed as finished, and is not in the index any more.
    fn finished(&self, _step: &CommittedStep<'_>) {}
}

/// Carries out [`LinkedChange`]s: changes of other operations in the commit of the step that asks for them.
pub(crate) trait LinkedChanges: Send + Sync {
    fn start(&self, linked_change: &LinkedChange, now: UnixMillis) -> Option<(Operation, Vec<Effect>)>;

    /// The open operations that are closed. Asked after all others of the commit were read from the store.
    fn closes(&self, linked_change: &LinkedChange) -> Vec<StreamId>;
}

/// Work of a feature that has to be done now and then, beside the cleanup of what every operation leaves.
#[async_trait]
pub(crate) trait PeriodicTask: Send + Sync {
    async fn run(&self, hour: u64, now: UnixMillis);
}
