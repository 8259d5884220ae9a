//! Invariants: the rules that must hold, and a ledger of what was committed and sent, against which they are checked.

mod actions;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use nostr::EventId;
use usher_engine::StreamId;
use usher_engine::event::Event;
use usher_engine::ports::OperationKind;
use usher_protocol::message::PaymentHash;

use super::approvals::ApprovalRecord;
use super::reusable_login::ReusableLoginRecord;

/// How long something may take beyond the time in which something did not work, in milliseconds.
const IN_TIME: u64 = 15 * 60_000;

/// A violated rule.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The rule.
    pub rule: &'static str,
    /// How it was violated.
    pub what: String,
}

#[derive(Debug)]
pub(crate) struct StreamBook {
    /// What it is called in the history.
    pub(crate) label: String,
    pub(crate) kind: OperationKind,
    /// Its events, and when each was committed.
    pub(crate) events: Vec<(Event, u64)>,
    pub(crate) statuses: Vec<String>,
    pub(crate) invoices: Vec<PaymentHash>,
    /// The payment hash of somebody else's invoice.
    pub(crate) pays: Option<PaymentHash>,
    /// When it began, in milliseconds since the beginning; when it waited for an approval, since that ended.
    pub(crate) began: u64,
    waits: bool,
    /// The subscription and the date it charges.
    pub(crate) charge: Option<(String, u64)>,
    pub(crate) is_reusable_login: bool,
    /// Nothing more is expected of it.
    pub(crate) done: bool,
    pub(crate) finished: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SubscriptionBook {
    /// Since when it is durable.
    pub(crate) began: u64,
    /// Since when it is no longer active.
    pub(crate) over_at: Option<u64>,
    /// Since when each date is paid.
    pub(crate) paid: BTreeMap<u64, u64>,
}

/// The ledger.
#[derive(Debug, Default)]
pub(crate) struct InvariantChecker {
    /// The rules that were broken.
    pub(crate) violations: Vec<Violation>,
    pub(crate) streams: BTreeMap<StreamId, StreamBook>,
    pub(crate) subscriptions: BTreeMap<String, SubscriptionBook>,
    /// Payment requests by id.
    requests: BTreeMap<String, StreamId>,
    /// Settlements, and whose `paid` each was.
    used: HashMap<PaymentHash, StreamId>,
    /// Payments that were reported as not made.
    pub(crate) said_not_paid: HashSet<PaymentHash>,
    /// Invoices of others, with their preimages' numbers.
    pub(crate) of_others: HashMap<PaymentHash, u64>,
    /// Those of them that a user has paid.
    pub(crate) paid_to_others: HashSet<PaymentHash>,
    /// Messages by which users close subscriptions.
    pub(crate) closes: BTreeMap<EventId, String>,
    /// Messages by which users agree to subscriptions.
    pub(crate) agreements: BTreeMap<EventId, String>,
    /// What was told of the users at the reusable login.
    pub(crate) reusable_login: ReusableLoginRecord,
    /// What was decided about the payments that waited for an approval.
    pub(crate) approvals: BTreeMap<StreamId, ApprovalRecord>,
    agreed: BTreeSet<String>,
    /// The Lightning backend's definite refusals to pay, by response.
    pub(crate) refusals: BTreeMap<EventId, PaymentHash>,
    /// When one of a payment reached the service, which was then in its so-manyth start.
    pub(crate) refusals_heard: HashMap<PaymentHash, (u64, u64)>,
    /// When a user's close reached the service, and the number of the service's start at that time.
    pub(crate) closes_heard: BTreeMap<String, (u64, u64)>,
    pub(crate) given_up: BTreeSet<(StreamId, u64)>,
    /// When the clocks leapt ahead by more than a day, and by how much, until they are corrected.
    pub(crate) leaps: Vec<(u64, Duration)>,
    /// Whether they ever did.
    pub(crate) has_leapt: bool,
    /// Times in which something did not work, from and to.
    pub(crate) bad: Vec<(u64, u64)>,
    /// How often users paid each date of each subscription.
    dates: BTreeMap<(String, u64), u32>,
    /// When each event was first delivered, and when the oldest event began to wait that it had to wait for.
    delivered: BTreeMap<(StreamId, u64), (u64, u64)>,
}

impl InvariantChecker {
    pub(crate) fn label(&self, stream: StreamId) -> String {
        self.streams.get(&stream).map_or_else(|| "a new stream".to_owned(), |book| book.label.clone())
    }

    pub(crate) fn charge_paid(&mut self, request_id: &str) {
        let stream = self.requests.get(request_id).and_then(|stream| self.streams.get(stream));
        if let Some(date) = stream.and_then(|stream| stream.charge.clone()) {
            *self.dates.entry(date).or_default() += 1;
        }
    }

    /// Dates that users have just paid for the second time.
    pub(crate) fn dates_paid_twice(&mut self) -> Vec<String> {
        let twice: Vec<_> = self.dates.iter().filter(|(_, times)| **times > 1).map(|(date, _)| date.clone()).collect();
        for date in &twice {
            self.dates.insert(date.clone(), 1);
        }
        twice.into_iter().map(|(id, number)| format!("date {number} of {id} was paid twice")).collect()
    }

    /// A message reached the service.
    pub(crate) fn arrived(&mut self, event: EventId, now: u64, start: u64) {
        if let Some(id) = self.agreements.get(&event) {
            self.agreed.insert(id.clone());
        }
        // A close of an unknown subscription closes nothing.
        if let Some(id) = self.closes.get(&event).filter(|id| self.agreed.contains(*id)) {
            self.closes_heard.entry(id.clone()).or_insert((now, start));
        }
        if let Some(hash) = self.refusals.get(&event) {
            self.refusals_heard.entry(*hash).or_insert((now, start));
        }
    }

    pub(crate) fn is_settled(&self, stream: StreamId, index: u64) -> bool {
        self.delivered.contains_key(&(stream, index)) || self.given_up.contains(&(stream, index))
    }

    /// Whether what reached the service then, in its so-manyth start, was not lost with the process.
    pub(crate) fn survived(&self, (heard_at, start): (u64, u64), starts: u64) -> bool {
        start == starts || self.bad_between(heard_at, heard_at + 60_000) == 0
    }

    /// How much of this time something did not work, in milliseconds.
    pub(crate) fn bad_between(&self, from: u64, to: u64) -> u64 {
        self.bad.iter().map(|(begin, end)| (*end).min(to).saturating_sub((*begin).max(from))).sum()
    }

    /// Records the delivery of an event that had to wait for the one `before`; returns a violation if it is too late.
    pub(crate) fn delivered(&mut self, stream: StreamId, index: u64, before: Option<u64>, now: u64) -> Option<String> {
        let book = self.streams.get(&stream)?;
        let (_, at) = book.events.get(usize::try_from(index).ok()?)?;
        let waited = before.and_then(|before| self.delivered.get(&(stream, before))).filter(|(until, _)| until > at);
        let since = waited.map_or(*at, |(_, since)| *since);
        self.delivered.entry((stream, index)).or_insert((now, since));
        // Pauses grow with the time of failing: 5, 30, 120, 600, 1,800 s, and a fifth more. One that is unlucky twice waits longer.
        let allowed = IN_TIME + 8 * self.bad_between(since.saturating_sub(IN_TIME), now);
        let took = now.saturating_sub(since);
        (took > allowed).then(|| format!("{} event {index} was delivered after {} s", book.label, took / 1000))
    }
}
