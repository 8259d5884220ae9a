//! The terms of a subscription, and the due dates derived from them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::bolt11::Network;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::Recurrence;

use crate::ports::{ExchangeRate, RateUnavailable};
use crate::price::{Price, PriceUnit};

/// Reply time up to which a user owes every due date since the request, in seconds.
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
    /// The calendar requested by the operator; `None` in states stored before this field existed.
    #[serde(default)]
    pub(crate) asked_calendar: Option<Calendar>,
    pub(crate) reference: Option<String>,
    pub(crate) auto_charge: bool,
    /// The price of each payment, if not `amount`, which is then the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price: Option<RecurringPrice>,
}

/// The price of each payment in another unit than millisats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecurringPrice {
    /// In this unit.
    pub(crate) amount: u64,
    pub(crate) currency: PriceUnit,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DueDate {
    /// Counted from 1.
    pub(super) number: u32,
    /// Unix seconds.
    pub(super) due: u64,
    /// The due date of this number by the requested calendar.
    asked_due: Option<u64>,
}

/// Why a charge cannot be made.
pub(super) struct Unpayable {
    pub(super) reason: String,
    /// What it would have cost.
    pub(super) price: Option<Price>,
}

impl Agreement {
    /// The maximum of a payment, in millisats.
    pub(super) fn most(&self) -> u64 {
        self.amount.min(self.authorized_amount)
    }

    /// The amount of a payment at this rate, in millisats.
    pub(super) fn fix(
        &self,
        rate: Option<&Result<ExchangeRate, RateUnavailable>>,
    ) -> Result<(u64, Option<Price>), Unpayable> {
        let most = self.most();
        let (amount, currency) = match self.price {
            None => return Ok((most, None)),
            Some(RecurringPrice { currency: PriceUnit::Sats, .. }) => return Ok((most, Some(Price::in_sats(most)))),
            Some(RecurringPrice { amount, currency: PriceUnit::Minor(currency) }) => (amount, currency),
        };
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

    /// The first due date of an agreement made at `now` (Unix seconds); the latest past one if agreeing took long.
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
    /// difference of a day is tolerated, because the wallet may use another time zone.
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

/// The latest date up to `last` among `first` and its successors, of which there may be half a million.
fn latest(calendar: &Calendar, first: u64, last: u64) -> u64 {
    let follows = |after: u64| calendar.next_after(after).filter(|due| *due <= last);
    let Some(mut found) = follows(first) else { return first };
    let mut end = last;
    // `found` has a successor not later than `last`, and `end` has none.
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

/// The settings of subscriptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionRules {
    /// The network of the invoices.
    pub network: Network,
    /// The intervals after which a failed charge is retried (`subscriptions.retry_hours`).
    pub retry_after: Vec<Duration>,
    /// How long an ended subscription is kept (`streams.retention_days`).
    pub keep: Duration,
}
