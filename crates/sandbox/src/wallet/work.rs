use std::sync::Arc;

/// Counts the requests that are being carried out. A clone is another handle of the same count.
#[derive(Clone, Debug, Default)]
pub struct WorkCount(Arc<Arc<()>>);

impl WorkCount {
    /// Counts one until the returned value is dropped.
    pub(super) fn begin(&self) -> Arc<()> {
        Arc::clone(&*self.0)
    }

    pub fn is_idle(&self) -> bool {
        Arc::strong_count(&*self.0) == 1
    }
}
