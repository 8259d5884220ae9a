//! The terms of a subscription, and the due dates that follow from them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::bolt11::Network;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::Recurrence;

use crate::payment::price::Price;
use crate::ports::{CurrencyCode, ExchangeRate, RateUnavailable};

/// How long a user may take to reply and still owe every due date since, in seconds.
const TO_ANSWER: u64 = 300;

/// In seconds.
const DAY: u64 = 24 * 3600;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Agreement {
    pub(crate) subscription_id: String,
    /// Millisats of each payment, as requested by the operator.
    pub(crate) amount: u64,
    pub(crate) description: String,
    /// Millisats of each payment, as authorized by the user.
    pub(crate) authorized_amount: u64,
    pub(crate) recurrence: Recurrence,
    /// How often, as requested by the operator; `None` in states that were stored before this field existed.
    #[serde(default)]
    pub(crate) asked_calendar: Option<Calendar>,
    pub(crate) reference: Option<String>,
    pub(crate) auto_charge: bool,
    /// What each payment costs, if it is not `amount`; then `amount` is the most that it may come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price: Option<RecurringPrice>,
}

/// What each payment costs, in another currency than millisats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecurringPrice {
    /// In the currency's minor unit.
    pub(crate) amount: u64,
    pub(crate) currency: CurrencyCode,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DueDate {
    /// Counted from 1.
    pub(super) number: u32,
    /// Unix seconds.
    pub(super) due: u64,
    /// When the date of this number would be due by the requested calendar.
    asked_due: Option<u64>,
}

/// Why a charge cannot be made.
pub(super) struct Unpayable {
    pub(super) reason: String,
    /// What it would have come to.
    pub(super) price: Option<Price>,
}

impl Agreement {
    /// The most that a payment may come to, in millisats.
    pub(super) fn most(&self) -> u64 {
        self.amount.min(self.authorized_amount)
    }

    /// What a payment comes to at this rate, in millisats.
    pub(super) fn fix(
        &self,
        rate: Option<&Result<ExchangeRate, RateUnavailable>>,
    ) -> Result<(u64, Option<Price>), Unpayable> {
        let most = self.most();
        let Some(RecurringPrice { amount, currency }) = self.price else { return Ok((most, None)) };
        let rate = match rate {
            Some(Ok(rate)) => rate.clone(),
            Some(Err(unavailable)) => return Err(Unpayable { reason: unavailable.to_string(), price: None }),
            None => return Err(Unpayable { reason: format!("there is no exchange rate for {currency}"), price: None }),
        };
        match Price::fix(amount, currency, rate) {
            Some(price) if price.amount_millisats <= most => Ok((price.amount_millisats, Some(price))),
            price => {
                let reason = format!("the price comes to more than the {most} millisats that the user agreed to");
                Err(Unpayable { reason, price })
            }
        }
    }

    /// The first due date of an agreement made at `now` (Unix seconds); the latest one by then if agreeing took long.
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

    /// The due date after this one: by the calendar that the user authorized, and not more often than requested. A
    /// difference of a day is tolerated, because the wallet may be in another time zone.
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

/// The latest date up to `last`, of `first` and its successors. There may be half a million in between.
fn latest(calendar: &Calendar, first: u64, last: u64) -> u64 {
    let follows = |after: u64| calendar.next_after(after).filter(|due| *due <= last);
    let Some(mut found) = follows(first) else { return first };
    let mut end = last;
    // The successor of `found` is not later than `last`, and `end` has no successor by then.
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

/// The configuration of subscriptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionRules {
    /// The network of the invoices.
    pub network: Network,
    /// The intervals after which a failed charge is retried (`subscriptions.retry_hours`).
    pub retry_after: Vec<Duration>,
    /// How long a subscription that has ended can be read (`streams.retention_days`).
    pub keep: Duration,
}
