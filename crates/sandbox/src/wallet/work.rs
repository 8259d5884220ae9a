use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the requests that are being carried out. A clone is another handle of the same count.
#[derive(Clone, Debug, Default)]
pub struct WorkCount(Arc<AtomicUsize>);

impl WorkCount {
    /// Counts one until the returned value is dropped.
    pub(super) fn begin(&self) -> Running {
        self.0.fetch_add(1, Ordering::AcqRel);
        Running(self.clone())
    }

    pub fn is_idle(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

pub(super) struct Running(WorkCount);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}
