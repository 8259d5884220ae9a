//! The payments waiting for an approval: 16 bytes each.

use std::collections::BTreeSet;
use std::ops::Bound;

use parking_lot::Mutex;

use crate::kernel::observer::{CommittedStep, Observer};
use crate::ports::{OpenOperation, Version};
use crate::registry::Operation;
use crate::{StreamId, UnixMillis};

#[derive(Default)]
pub(crate) struct WaitingPayments(Mutex<BTreeSet<StreamId>>);

impl WaitingPayments {
    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    pub(crate) fn contains(&self, id: StreamId) -> bool {
        self.0.lock().contains(&id)
    }

    pub(crate) fn after(&self, after: Option<StreamId>, limit: usize) -> Vec<StreamId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.0.lock().range((start, Bound::Unbounded)).take(limit).copied().collect()
    }

    /// Removes a payment whose stored state differs, because its commits were reported in another order.
    pub(crate) fn forget(&self, id: StreamId) {
        self.0.lock().remove(&id);
    }

    fn note(&self, id: StreamId, operation: &Operation, is_open: bool) {
        if is_open && matches!(operation, Operation::HeldPayment(_)) {
            self.0.lock().insert(id);
        } else if operation.spending().is_some() {
            self.0.lock().remove(&id);
        }
    }
}

impl Observer for WaitingPayments {
    fn restored(&self, open: &OpenOperation, read: Option<(Version, &Operation)>, _: UnixMillis) {
        if let Some((_, operation)) = read {
            self.note(open.id, operation, true);
        }
    }

    fn committed(&self, step: &CommittedStep<'_>) {
        self.note(step.id, step.operation, !step.is_finished);
    }
}
