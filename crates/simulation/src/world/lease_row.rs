//! The lease in the database: a row that is judged by the database's own clock.

use std::collections::BTreeMap;
use std::time::Duration;

/// The row. Times are milliseconds: by the database's clock where they say so, otherwise since the beginning.
#[derive(Debug, Default)]
pub(crate) struct LeaseRow {
    /// The epoch of the last owner; 0 before there was one.
    pub(crate) epoch: u64,
    pub(crate) owner: usize,
    /// Until when it holds, by the database's clock.
    expires_at: Option<i64>,
    /// By how much the database's clock is ahead of the time since the beginning.
    clock_ahead: i64,
    /// When that clock leapt ahead last.
    leapt_at: Option<u64>,
    /// When the lease of each epoch ended, where that was noticed in the row.
    ended: BTreeMap<u64, u64>,
}

impl LeaseRow {
    fn clock(&self, now: u64) -> i64 {
        i64::try_from(now).unwrap_or(i64::MAX).saturating_add(self.clock_ahead)
    }

    pub(crate) fn set_clock(&mut self, now: u64, by: i64) {
        self.clock_ahead += by;
        if by > 0 {
            self.leapt_at = Some(now);
        }
    }

    pub(crate) fn leapt_within(&self, now: u64, time: Duration) -> bool {
        self.leapt_at.is_some_and(|at| u128::from(now - at) < time.as_millis())
    }

    /// For how long the lease holds still; `None` when anybody can take it.
    pub(crate) fn remaining(&self, now: u64) -> Option<Duration> {
        let left = self.expires_at?.saturating_sub(self.clock(now));
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_millis)
    }

    /// Whether it holds, and is of this epoch.
    pub(crate) fn is_of(&self, epoch: u64, now: u64) -> bool {
        self.epoch == epoch && self.remaining(now).is_some()
    }

    /// Since when the lease of this epoch has been over; `None` while it holds.
    pub(crate) fn over_since(&self, epoch: u64, now: u64) -> Option<u64> {
        if self.is_of(epoch, now) {
            return None;
        }
        Some(self.ended.get(&epoch).copied().unwrap_or_else(|| self.expired_at(now)))
    }

    fn expired_at(&self, now: u64) -> u64 {
        let ago = self.expires_at.map_or(0, |at| self.clock(now).saturating_sub(at));
        now.saturating_sub(u64::try_from(ago).unwrap_or_default())
    }

    pub(crate) fn acquire(&mut self, owner: usize, lasts: Duration, now: u64) -> Option<u64> {
        if self.remaining(now).is_some() {
            return None;
        }
        let ended = self.expired_at(now);
        self.ended.entry(self.epoch).or_insert(ended);
        self.epoch += 1;
        self.owner = owner;
        self.set_expiry(lasts, now);
        Some(self.epoch)
    }

    pub(crate) fn renew(&mut self, epoch: u64, lasts: Duration, now: u64) -> bool {
        let holds = self.is_of(epoch, now);
        if holds {
            self.set_expiry(lasts, now);
        }
        holds
    }

    pub(crate) fn hand_over(&mut self, epoch: u64, now: u64) -> bool {
        let holds = self.is_of(epoch, now);
        if holds {
            self.expires_at = None;
            self.ended.insert(epoch, now);
        }
        holds
    }

    fn set_expiry(&mut self, lasts: Duration, now: u64) {
        self.expires_at = Some(self.clock(now).saturating_add(i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX)));
    }
}
