//! The limit per author.

use std::time::Duration;

use usher_protocol::EventId;

use super::ScanTarget;
use crate::UnixMillis;

/// One scan of one key counts in so long.
pub(super) const PER_AUTHOR: Duration = Duration::from_secs(60);

/// How many logins of one key, begun on pages of a reusable login, count in [`PER_AUTHOR`].
pub(super) const PER_AUTHOR_ON_PAGES: u8 = 3;

/// What was accepted of one key at one handshake.
#[derive(Clone, Copy)]
pub(super) struct Accepted {
    /// The last one.
    pub(super) event: EventId,
    pub(super) at: UnixMillis,
    /// The last one of the URL.
    scanned_at: Option<UnixMillis>,
    /// Those on pages since this time.
    pages_since: UnixMillis,
    on_pages: u8,
}

impl Accepted {
    /// Before anything was.
    pub(super) const NOTHING: Self = Self {
        event: EventId::from_byte_array([0; 32]),
        at: UnixMillis(0),
        scanned_at: None,
        pages_since: UnixMillis(0),
        on_pages: 0,
    };

    /// Whether one more of this target is within the limit per author.
    pub(super) fn allows(&self, target: ScanTarget, now: UnixMillis) -> bool {
        match target {
            ScanTarget::Page(_) => self.on_pages < PER_AUTHOR_ON_PAGES || !is_recent(self.pages_since, now),
            ScanTarget::Handshake | ScanTarget::Login => !self.scanned_at.is_some_and(|at| is_recent(at, now)),
        }
    }

    /// One more.
    pub(super) fn add(&mut self, target: ScanTarget, event: EventId, now: UnixMillis) {
        (self.event, self.at) = (event, now);
        match target {
            ScanTarget::Page(_) if is_recent(self.pages_since, now) => self.on_pages = self.on_pages.saturating_add(1),
            ScanTarget::Page(_) => (self.pages_since, self.on_pages) = (now, 1),
            ScanTarget::Handshake | ScanTarget::Login => self.scanned_at = Some(now),
        }
    }
}

/// Whether something that was accepted then counts now; not if the clock was set back.
pub(super) fn is_recent(at: UnixMillis, now: UnixMillis) -> bool {
    at <= now && now < at.plus(PER_AUTHOR)
}
