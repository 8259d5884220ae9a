//! The room for logins at reusable logins.

use super::Scan;
use super::waiting::Waiting;

/// Whether there is room for another login at a reusable login, beside so many that are about to start.
pub(super) type HasRoom<'a> = &'a dyn Fn(usize) -> bool;

/// The room while scans are drawn.
pub(super) struct Room<'a> {
    pub(super) has_room: HasRoom<'a>,
    /// How many are about to start.
    pub(super) starting: usize,
}

impl Room<'_> {
    /// Whether there is any.
    pub(super) fn is_left(&self) -> bool {
        (self.has_room)(self.starting)
    }

    /// Whether there is room for this scan.
    pub(super) fn is_for(&self, waiting: &Waiting) -> bool {
        !waiting.scan.target.starts_login() || self.is_left()
    }

    /// This scan is accepted.
    pub(super) fn take(&mut self, scan: &Scan) {
        self.starting += usize::from(scan.target.starts_login());
    }
}
