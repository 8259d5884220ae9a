//! The intervals between look-ups of an invoice.

use std::time::Duration;

use usher_protocol::message::PaymentHash;

use super::lookup_turns::LookupClass;
use crate::kernel::timers::MonotonicMillis;

/// The first look-ups of a new invoice are made in time, regardless of the number of others.
pub(super) const FIRST_LOOKUPS: u8 = 4;

/// Seconds between look-ups if the backend reports settlements; the last value repeats.
const WHEN_NOTIFIED: [u64; 4] = [60, 120, 300, 600];

/// The same for an invoice that a user is about to pay: after 5, 10, 20 and 40 seconds, whether or not the backend
/// reports settlements.
const WHEN_AWAITED: [u64; 8] = [5, 5, 10, 20, 60, 120, 300, 600];

/// Seconds between look-ups if the backend does not report settlements; the last value repeats.
const WHEN_NOT_NOTIFIED: [u64; 6] = [2, 4, 8, 15, 30, 60];

/// Seconds until the next look-up after a failed one.
const AFTER_FAILURE: u64 = 10;

/// Seconds between look-ups of an invoice whose payment is over for the app; the last value repeats.
const WHEN_OVER: [u64; 4] = [60, 600, 3600, 21_600];

pub(super) struct Watch {
    pub(super) hash: PaymentHash,
    /// When it is next looked up; `None` during a look-up, or while it waits for its turn.
    pub(super) at: Option<MonotonicMillis>,
    pub(super) waits: bool,
    pub(super) times: u8,
    /// Successive look-ups with a settlement that its operation did not accept.
    pub(super) disputes: u8,
    pub(super) over: bool,
    pub(super) awaited: bool,
    /// It is looked up along with all others, after a restart or an outage of the backend.
    pub(super) with_all: bool,
    /// Whether there is a specific reason: it does not wait for its turn.
    pub(super) urgent: bool,
    /// Whether another look-up was requested during a look-up, and follows it.
    pub(super) again: bool,
}

impl Watch {
    pub(super) fn new(hash: PaymentHash, at: MonotonicMillis, over: bool, awaited: bool) -> Self {
        let at = Some(at);
        let (waits, with_all, urgent, again) = (false, false, false, false);
        Self { hash, at, waits, times: 0, disputes: 0, over, awaited, with_all, urgent, again }
    }

    pub(super) const fn is_new(&self) -> bool {
        self.awaited && !self.over && self.times < FIRST_LOOKUPS
    }

    pub(super) const fn class(&self) -> LookupClass {
        match self {
            Self { over: true, .. } => LookupClass::Ended,
            Self { with_all: false, .. } if self.is_new() => LookupClass::Awaited,
            Self { .. } => LookupClass::Open,
        }
    }
}

pub(super) struct Schedule {
    /// Most regular look-ups per second; at least 1.
    per_second: u64,
}

impl Schedule {
    pub(super) fn new(per_second: u64) -> Self {
        Self { per_second: per_second.max(1) }
    }

    pub(super) fn gap(&self) -> Duration {
        Duration::from_secs(1) / u32::try_from(self.per_second).unwrap_or(u32::MAX)
    }

    /// The time until the next look-up of an invoice, one of `among`. `notified`: the backend reports settlements.
    pub(super) fn interval(&self, watch: &Watch, notified: bool, among: usize) -> Duration {
        let schedule: &[u64] = match (watch.over, notified) {
            (true, _) => &WHEN_OVER,
            (false, true) if watch.awaited => &WHEN_AWAITED,
            (false, true) => &WHEN_NOTIFIED,
            (false, false) => &WHEN_NOT_NOTIFIED,
        };
        let secs = schedule.get(usize::from(watch.times)).or(schedule.last()).copied().unwrap_or(60);
        if watch.is_new() { Duration::from_secs(secs) } else { self.stretched(secs, watch.over, among) }
    }

    pub(super) fn after_failure(&self, over: bool, among: usize) -> Duration {
        self.stretched(AFTER_FAILURE, over, among)
    }

    fn stretched(&self, secs: u64, over: bool, among: usize) -> Duration {
        // There may be very many ended payments, for a day each.
        let per_second = if over { (self.per_second / 5).max(1) } else { self.per_second };
        Duration::from_secs(secs.max(among as u64 / per_second))
    }
}

#[cfg(test)]
mod tests {
    use usher_protocol::message::PaymentHash;

    use super::*;
    use crate::kernel::timers::MonotonicMillis;

    fn watch(times: u8, over: bool, awaited: bool) -> Watch {
        let hash = PaymentHash::from_bytes([1; 32]);
        Watch { times, ..Watch::new(hash, MonotonicMillis(0), over, awaited) }
    }

    #[test]
    fn interval_depends_on_the_class_and_on_notifications() {
        let schedule = Schedule::new(10);
        let secs = |watch: &Watch, notified| schedule.interval(watch, notified, 1).as_secs();
        for (times, awaited, not_notified, charge) in [(0, 5, 2, 60), (3, 20, 15, 600), (200, 600, 60, 600)] {
            assert_eq!(secs(&watch(times, false, true), true), awaited);
            assert_eq!(secs(&watch(times, false, true), false), not_notified);
            assert_eq!(secs(&watch(times, false, false), true), charge);
        }
        assert_eq!(secs(&watch(1, true, true), true), 600);
    }

    #[test]
    fn many_invoices_stretch_all_but_the_first_interval() {
        let schedule = Schedule::new(10);
        assert_eq!(schedule.interval(&watch(0, false, true), false, 10_000).as_secs(), 2);
        assert_eq!(schedule.interval(&watch(4, false, true), false, 10_000).as_secs(), 1000);
        assert_eq!(schedule.interval(&watch(0, true, true), false, 10_000).as_secs(), 5000);
        assert_eq!(schedule.after_failure(false, 1).as_secs(), 10);
        assert_eq!(schedule.after_failure(false, 10_000).as_secs(), 1000);
        assert_eq!(Schedule::new(0).gap(), Duration::from_secs(1));
    }
}
