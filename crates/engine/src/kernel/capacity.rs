//! Limits on operations in memory.

use std::sync::Arc;

use super::index::Index;

#[derive(Clone)]
pub(crate) struct Capacity {
    index: Arc<Index>,
    /// `limits.max_open_streams`; the reserved stream is not counted.
    max_open: usize,
}

impl Capacity {
    pub(crate) fn new(index: Arc<Index>, max_open: usize) -> Self {
        Self { index, max_open }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.has_room_for(0)
    }

    pub(crate) fn has_room_for(&self, starting: usize) -> bool {
        // The reserved stream is always included, and was not started.
        self.index.len().saturating_add(starting) <= self.max_open
    }

    /// Whether another payment may start: ended ones stay in memory for a day, because money may arrive late.
    pub(crate) fn has_room_for_payments(&self) -> bool {
        self.index.all() <= self.max_open.saturating_mul(2)
    }
}
