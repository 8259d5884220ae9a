//! The limit per author.

use std::time::Duration;

use usher_protocol::EventId;

use super::ScanTarget;
use crate::UnixMillis;

/// One scan of one key counts in so long.
pub(super) const PER_AUTHOR: Duration = Duration::from_secs(60);

/// How many logins of one key, begun on pages of a reusable login, count in [`PER_AUTHOR`].
pub(super) const PER_AUTHOR_ON_PAGES: u8 = 3;

/// How many events of one key are recognized when they come again.
const EVENTS: usize = 8;

/// What was accepted of one key at one handshake.
#[derive(Clone, Copy)]
pub(super) struct Accepted {
    /// The first 64 bits of the ids of the last events.
    events: [u64; EVENTS],
    /// Which of them count: a bit for each.
    counted: u8,
    /// The place of the next one.
    next: u8,
    /// The last scan of the URL, and the one before.
    scanned_at: Option<UnixMillis>,
    scanned_before: Option<UnixMillis>,
    /// Those on pages since this time.
    pages_since: UnixMillis,
    on_pages: u8,
    /// When one was last given back.
    given_back_at: Option<UnixMillis>,
}

impl Accepted {
    /// Before anything was.
    pub(super) const NOTHING: Self = Self {
        events: [0; EVENTS],
        counted: 0,
        next: 0,
        scanned_at: None,
        scanned_before: None,
        pages_since: UnixMillis(0),
        on_pages: 0,
        given_back_at: None,
    };

    /// Whether this event was accepted before: lately, not ever.
    pub(super) fn has(&self, event: EventId) -> bool {
        self.place(event).is_some()
    }

    /// Whether anything that was accepted counts.
    pub(super) const fn is_known(&self) -> bool {
        self.counted != 0
    }

    /// Whether one more of this target is within the limit per author.
    pub(super) fn allows(&self, target: ScanTarget, now: UnixMillis) -> bool {
        match target {
            ScanTarget::Page(_) => self.on_pages < PER_AUTHOR_ON_PAGES || !is_recent(self.pages_since, now),
            ScanTarget::Handshake | ScanTarget::Login => !self.scanned_at.is_some_and(|at| is_recent(at, now)),
        }
    }

    /// One more.
    pub(super) fn add(&mut self, target: ScanTarget, event: EventId, now: UnixMillis) {
        let place = self.place(event).unwrap_or(usize::from(self.next));
        if let Some(entry) = self.events.get_mut(place) {
            *entry = prefix(event);
            self.counted |= 1 << place;
        }
        self.next = (self.next + 1) % EVENTS as u8;
        match target {
            ScanTarget::Page(_) if is_recent(self.pages_since, now) => self.on_pages = self.on_pages.saturating_add(1),
            ScanTarget::Page(_) => (self.pages_since, self.on_pages) = (now, 1),
            ScanTarget::Handshake | ScanTarget::Login => {
                self.scanned_before = self.scanned_at.replace(now);
            }
        }
    }

    /// This one has had no effect: it does not count, but is still recognized. Whether it counted.
    pub(super) fn take_back(&mut self, target: ScanTarget, event: EventId) -> bool {
        let Some(place) = self.place(event).filter(|place| self.counted & 1 << place != 0) else { return false };
        self.counted &= !(1 << place);
        match target {
            ScanTarget::Page(_) => self.on_pages = self.on_pages.saturating_sub(1),
            ScanTarget::Handshake | ScanTarget::Login => self.scanned_at = self.scanned_before.take(),
        }
        true
    }

    /// As [`take_back`](Self::take_back), once in so long: what it took of the other limits is not given back, and one key could
    /// use those up.
    pub(super) fn give_back(&mut self, target: ScanTarget, event: EventId, now: UnixMillis) {
        if !self.given_back_at.is_some_and(|at| is_recent(at, now)) && self.take_back(target, event) {
            self.given_back_at = Some(now);
        }
    }

    fn place(&self, event: EventId) -> Option<usize> {
        let event = prefix(event);
        self.events.iter().position(|known| *known == event)
    }
}

fn prefix(event: EventId) -> u64 {
    event.as_bytes().first_chunk().copied().map_or(0, u64::from_be_bytes)
}

/// Whether something that was accepted then counts now; not if the clock was set back.
fn is_recent(at: UnixMillis, now: UnixMillis) -> bool {
    at <= now && now < at.plus(PER_AUTHOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamId;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    fn event(n: u8) -> EventId {
        EventId::from_byte_array([n; 32])
    }

    #[test]
    fn what_has_had_no_effect_does_not_count_and_is_recognized() {
        let page = ScanTarget::Page(StreamId::from_bytes([1; 16]));
        let mut accepted = Accepted::NOTHING;
        assert!(!accepted.is_known() && !accepted.has(event(1)));
        accepted.add(ScanTarget::Login, event(1), NOW);
        assert!(accepted.is_known() && !accepted.allows(ScanTarget::Login, NOW) && accepted.allows(page, NOW));
        assert!(accepted.take_back(ScanTarget::Login, event(1)));
        assert!(!accepted.take_back(ScanTarget::Login, event(1)), "once");
        assert!(!accepted.is_known() && accepted.has(event(1)) && accepted.allows(ScanTarget::Login, NOW));
        for n in 2..5 {
            assert!(accepted.allows(page, NOW));
            accepted.add(page, event(n), NOW);
        }
        assert!(!accepted.allows(page, NOW));
        assert!(!accepted.take_back(page, event(9)), "it was not accepted");
        assert!(accepted.take_back(page, event(2)) && accepted.allows(page, NOW));
        accepted.add(ScanTarget::Login, event(5), NOW);
        accepted.add(ScanTarget::Login, event(6), NOW.plus(PER_AUTHOR));
        assert!(accepted.take_back(ScanTarget::Login, event(6)));
        assert!(!accepted.allows(ScanTarget::Login, NOW.plus(PER_AUTHOR / 2)), "the one before counts");
        for (n, is_free) in [(7, true), (8, false)] {
            let now = NOW.plus(PER_AUTHOR * 3);
            accepted.add(ScanTarget::Login, event(n), now);
            accepted.give_back(ScanTarget::Login, event(n), now);
            assert_eq!(accepted.allows(ScanTarget::Login, now), is_free, "once a minute");
        }
        for n in 10..30 {
            accepted.add(page, event(n), NOW);
        }
        assert!(accepted.has(event(29)) && !accepted.has(event(10)) && accepted.is_known());
    }
}
