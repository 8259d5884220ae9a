//! Which deliveries of tickets are open.

use std::collections::BTreeSet;
use std::ops::Bound;

use parking_lot::Mutex;

use crate::StreamId;

/// Which deliveries are not over: 16 bytes each, at most three times `limits.max_open_streams`, like everything that is open
/// or waits for late money.
#[derive(Default)]
pub(crate) struct OpenDeliveries(Mutex<BTreeSet<StreamId>>);

impl OpenDeliveries {
    /// A delivery is open.
    pub(crate) fn add(&self, id: StreamId) {
        self.0.lock().insert(id);
    }

    /// A delivery is over.
    pub(crate) fn remove(&self, id: StreamId) {
        self.0.lock().remove(&id);
    }

    /// Up to `limit` open deliveries after this one, oldest first.
    pub(crate) fn after(&self, after: Option<StreamId>, limit: usize) -> Vec<StreamId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.0.lock().range((start, Bound::Unbounded)).take(limit).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_deliveries_are_paged_in_the_order_in_which_they_began() {
        let open = OpenDeliveries::default();
        let ids = [1, 2, 3].map(|n| StreamId::from_parts(n, [0; 10]));
        for id in [ids[2], ids[0], ids[1], ids[0]] {
            open.add(id);
        }
        assert_eq!(open.after(None, 2), ids[..2]);
        assert_eq!(open.after(Some(ids[1]), 2), ids[2..]);
        open.remove(ids[1]);
        assert_eq!(open.after(None, 9), [ids[0], ids[2]]);
    }
}
