//! The due dates of a subscription with automatic charges. One is charged at a time, oldest first, also after downtime.
//! A failed one waits for its retry without delaying later dates.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agreement::{Agreement, DueDate};
use crate::machine::Charge;

/// Longest time for a user's wallet to pay one charge, in seconds: automatic payers pay when they are next online.
const MAX_CHARGE_SECS: u64 = 3600;

/// The shortest such time, for calendars with short intervals, in seconds.
const MIN_CHARGE_SECS: u64 = 60;

/// Most dates waiting for a retry. With retries after 24 and 72 hours, an hourly calendar has 96 of them.
const MAX_RETRY_DATES: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Dates {
    next: Option<DueDate>,
    running: Option<Running>,
    again: Vec<Again>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    charge: Charge,
    /// In seconds.
    lives: u64,
    /// Whether an earlier attempt has paid the date in the meantime, so that the date is done when this attempt ends.
    paid: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Again {
    charge: Charge,
    lives: u64,
    /// When, in Unix seconds.
    at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// Nothing to report: it was not running, so its end was reported before.
    Known,
    Paid,
    /// A failure to report, with the time of the retry in Unix seconds.
    Untold(Option<u64>),
}

impl Dates {
    pub(super) fn of(agreement: &Agreement, now: u64) -> Self {
        Self { next: agreement.first(now), ..Self::default() }
    }

    /// When the next charge starts, in Unix seconds; `None` while one runs.
    pub(super) fn wake_at(&self) -> Option<u64> {
        if self.running.is_some() { None } else { self.first().map(|(at, _)| at) }
    }

    pub(super) const fn are_over(&self) -> bool {
        self.next.is_none() && self.running.is_none() && self.again.is_empty()
    }

    pub(super) fn running(&self) -> Option<Charge> {
        self.running.as_ref().map(|running| running.charge)
    }

    /// The due date that is charged now or next, in Unix seconds.
    pub(super) fn due(&self) -> Option<u64> {
        self.running().map(|charge| charge.due).or_else(|| self.first().map(|(_, due)| due))
    }

    /// Takes the oldest due date; returns how long its charge can be paid. `None` while one runs.
    pub(super) fn begin(&mut self, agreement: &Agreement, now: u64) -> Option<(Charge, Duration)> {
        if self.running.is_some() {
            return None;
        }
        let (charge, lives) = match self.again.iter().position(|again| again.at <= now) {
            Some(oldest) => {
                let Again { charge, lives, .. } = self.again.remove(oldest);
                (charge, lives)
            }
            None => {
                let next = self.next.take_if(|next| next.due <= now)?;
                self.next = agreement.after(&next);
                // From date to date, not from now: after downtime the next date may have passed.
                let apart = self.next.as_ref().map_or(MAX_CHARGE_SECS, |after| after.due.saturating_sub(next.due));
                (
                    Charge { number: next.number, due: next.due, attempt: 0 },
                    apart.clamp(MIN_CHARGE_SECS, MAX_CHARGE_SECS),
                )
            }
        };
        self.running = Some(Running { charge, lives, paid: false });
        Some((charge, Duration::from_secs(lives)))
    }

    /// Records a paid charge, possibly late. Returns whether a later attempt is running, which is no longer owed.
    pub(super) fn paid(&mut self, paid: Charge) -> bool {
        self.again.retain(|again| again.charge.number != paid.number);
        match &mut self.running {
            Some(running) if running.charge == paid => self.running = None,
            Some(running) if running.charge.number == paid.number => {
                running.paid = true;
                return true;
            }
            _ => {}
        }
        false
    }

    /// Records a failed charge, which is retried at `at` (Unix seconds) unless too many dates are waiting.
    pub(super) fn failed(&mut self, failed: Charge, at: Option<u64>) -> Failed {
        let Some(Running { lives, paid, .. }) = self.running.take_if(|running| running.charge == failed) else {
            return Failed::Known;
        };
        if paid {
            return Failed::Paid;
        }
        let at = at.filter(|_| self.again.len() < MAX_RETRY_DATES);
        if let Some(at) = at {
            let place = self.again.partition_point(|again| again.charge.number < failed.number);
            let charge = Charge { attempt: failed.attempt.saturating_add(1), ..failed };
            self.again.insert(place, Again { charge, lives, at });
        }
        Failed::Untold(at)
    }

    /// The time of the next charge, and its due date.
    fn first(&self) -> Option<(u64, u64)> {
        let again = self.again.iter().map(|again| (again.at, again.charge.due));
        let next = self.next.iter().map(|next| (next.due, next.due));
        again.chain(next).min()
    }
}
