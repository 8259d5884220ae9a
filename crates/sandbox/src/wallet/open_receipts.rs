use std::collections::HashSet;

use parking_lot::Mutex;

/// Tokens that are received at once; further ones come again.
const MAX_RECEIPTS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct OpenReceipts(Mutex<HashSet<String>>);

impl OpenReceipts {
    /// Begins a receipt; `false` if there is one for this token, or if there are too many.
    pub(super) fn begin(&self, id: &str) -> bool {
        let mut ids = self.0.lock();
        ids.len() < MAX_RECEIPTS && ids.insert(id.to_owned())
    }

    pub(super) fn end(&self, id: &str) {
        self.0.lock().remove(id);
    }
}
