//! What was agreed, and which due dates follow from it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::bolt11::Network;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::Recurrence;

/// How long a user may take to answer and owe every date since, in seconds.
const TO_ANSWER: u64 = 300;

/// In seconds.
const DAY: u64 = 24 * 3600;

/// What was agreed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::operations) struct Agreement {
    /// The wallet's id of it.
    pub(in crate::operations) subscription_id: String,
    /// Millisats each time, as the operator asked.
    pub(in crate::operations) amount: u64,
    pub(in crate::operations) description: String,
    /// Millisats each time, as the user allowed.
    pub(in crate::operations) authorized_amount: u64,
    /// When and how often, as the user allowed.
    pub(in crate::operations) recurrence: Recurrence,
    /// How often, as the operator asked; none in what was agreed before this was kept.
    #[serde(default)]
    pub(in crate::operations) asked_calendar: Option<Calendar>,
    /// The caller's own reference.
    pub(in crate::operations) reference: Option<String>,
    pub(in crate::operations) auto_charge: bool,
}

/// A due date of what was agreed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DueDate {
    /// Counted from 1.
    pub(super) number: u32,
    /// Unix seconds.
    pub(super) due: u64,
    /// When a date of this number would fall due by the calendar that was asked for.
    asked_due: Option<u64>,
}

impl Agreement {
    /// The first due date of what is agreed at `now`, in Unix seconds. Where the user took their time it is the latest that
    /// has passed: nobody owes what fell due long before it was agreed, and what runs now is paid at once.
    pub(super) fn first(&self, now: u64) -> Option<DueDate> {
        let (number, first) = self.recurrence.next_due(None)?;
        let Recurrence { calendar, until, .. } = &self.recurrence;
        let last = until.map_or(now, |until| until.min(now));
        let owed = first.max(now.saturating_sub(TO_ANSWER));
        let due = match calendar.next_after(owed.saturating_sub(1)) {
            _ if first == owed => first,
            Some(due) if due <= last => due,
            _ => latest(calendar, first, last),
        };
        Some(DueDate { number, due, asked_due: Some(due) })
    }

    /// The due date after this one: by the calendar that the user allowed, and no more often than was asked for. A day's
    /// difference is none, for the wallet may be in another time zone.
    pub(super) fn after(&self, current: &DueDate) -> Option<DueDate> {
        let DueDate { number, due, .. } = *current;
        let (Some(asked), Some(asked_due)) = (&self.asked_calendar, current.asked_due) else {
            let (number, due) = self.recurrence.next_due(Some((number, due)))?;
            return Some(DueDate { number, due, asked_due: None });
        };
        let asked_due = asked_due.max(due);
        let next = asked.next_after(asked_due)?;
        let earliest = next - ((next - asked_due) / 2).min(DAY);
        let (number, due) = self.recurrence.next_due(Some((number, due.max(earliest.saturating_sub(1)))))?;
        Some(DueDate { number, due, asked_due: Some(next) })
    }
}

/// The latest date until `last`, of `first` and those that follow it. There may be half a million between them.
fn latest(calendar: &Calendar, first: u64, last: u64) -> u64 {
    let follows = |after: u64| calendar.next_after(after).filter(|due| *due <= last);
    let Some(mut found) = follows(first) else { return first };
    let mut end = last;
    // What follows `found` is no later than `last`, and nothing follows `end` by then.
    while let Some(next) = follows(found) {
        found = next;
        let middle = found + end.saturating_sub(found) / 2;
        match follows(middle) {
            Some(later) => found = later,
            None => end = middle,
        }
    }
    found
}

/// What subscriptions are given by the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionRules {
    /// The network of the invoices.
    pub network: Network,
    /// After how long a charge that failed is tried again, one after the other (`subscriptions.retry_hours`).
    pub retry_after: Vec<Duration>,
    /// For how long a subscription that has ended can be read (`streams.retention_days`).
    pub keep: Duration,
}
