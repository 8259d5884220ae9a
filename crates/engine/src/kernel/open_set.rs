//! The open operations of one kind, in order: 16 bytes each.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use super::index::Index;
use super::observer::{CommittedStep, Observer};
use crate::ports::{OpenOperation, OperationKind};
use crate::{Order, StreamId, UnixMillis};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Members {
    All(OperationKind),
    /// Those of this kind that never time out.
    Endless(OperationKind),
}

pub(crate) struct OpenSet {
    members: Members,
    index: Arc<Index>,
    open: Mutex<BTreeSet<StreamId>>,
}

impl OpenSet {
    pub(crate) fn new(members: Members, index: Arc<Index>) -> Self {
        Self { members, index, open: Mutex::default() }
    }

    pub(crate) fn after(&self, after: Option<StreamId>, limit: usize) -> Vec<StreamId> {
        self.page(Order::Oldest, after, limit)
    }

    /// Up to `limit` in this order, after this one.
    pub(crate) fn page(&self, order: Order, after: Option<StreamId>, limit: usize) -> Vec<StreamId> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let open = self.open.lock();
        match order {
            Order::Oldest => open.range((after, Bound::Unbounded)).take(limit).copied().collect(),
            Order::Newest => open.range((Bound::Unbounded, after)).rev().take(limit).copied().collect(),
        }
    }

    fn has(&self, kind: OperationKind, wake_at: Option<UnixMillis>) -> bool {
        match self.members {
            Members::All(members) => members == kind,
            Members::Endless(members) => members == kind && wake_at.is_none(),
        }
    }
}

impl Observer for OpenSet {
    fn restored(
        &self,
        open: &OpenOperation,
        _: Option<(crate::ports::Version, &crate::registry::Operation)>,
        _: UnixMillis,
    ) {
        if self.has(open.kind, open.wake_at) {
            self.open.lock().insert(open.id);
        }
    }

    fn committed(&self, step: &CommittedStep<'_>) {
        if step.is_new && !step.is_finished && self.has(step.operation.kind(), step.operation.wake_at()) {
            // Under the index's lock, so that it does not follow a later commit that finished it.
            self.index.change(step.id, |_| {
                self.open.lock().insert(step.id);
            });
        }
    }

    fn finished(&self, step: &CommittedStep<'_>) {
        self.open.lock().remove(&step.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::key_handshake::KeyHandshake;
    use crate::ports::OperationHead;
    use crate::registry::Operation;

    const NOW: UnixMillis = UnixMillis(1_000);

    fn step<'a>(id: StreamId, operation: &'a Operation, is_finished: bool) -> CommittedStep<'a> {
        let head = OperationHead { revision: 1, next_index: 0 };
        CommittedStep {
            id,
            origin: None,
            operation,
            is_new: !is_finished,
            is_finished,
            has_events: false,
            head,
            now: NOW,
        }
    }

    #[test]
    fn open_operations_are_paged_in_the_order_in_which_they_began() {
        let index = Arc::<Index>::default();
        let open = OpenSet::new(Members::Endless(OperationKind::KeyHandshake), Arc::clone(&index));
        let ids = [1, 2, 3, 4].map(|n| StreamId::from_parts(n, [0; 10]));
        let reusable = Operation::KeyHandshake(KeyHandshake::reusable("token".to_owned(), false));
        let single = Operation::KeyHandshake(KeyHandshake::single_use("token".to_owned(), false, NOW));
        index.reserve(ids.to_vec()).keep();
        for id in [ids[2], ids[0], ids[1], ids[0]] {
            open.committed(&step(id, &reusable, false));
        }
        open.committed(&step(ids[3], &single, false));
        assert_eq!(open.after(None, 2), ids[..2]);
        assert_eq!(open.after(Some(ids[1]), 2), ids[2..3]);
        assert_eq!(open.page(Order::Newest, None, 2), [ids[2], ids[1]]);
        assert_eq!(open.page(Order::Newest, Some(ids[1]), 2), ids[..1]);
        open.finished(&step(ids[1], &reusable, true));
        assert_eq!(open.after(None, 9), [ids[0], ids[2]]);
    }

    #[test]
    fn an_operation_that_a_later_commit_has_finished_is_not_added() {
        let open = OpenSet::new(Members::All(OperationKind::KeyHandshake), Arc::default());
        let operation = Operation::KeyHandshake(KeyHandshake::reusable("token".to_owned(), false));
        open.committed(&step(StreamId::from_parts(1, [0; 10]), &operation, false));
        assert!(open.after(None, 9).is_empty());
    }
}
