//! What happens in the world: invariants.

use serde_json::Value;
use usher_engine::StreamId;
use usher_engine::event::{Event, EventType};
use usher_engine::ports::{
    Commit, DeliveryAttempt, DeliveryStatus, OperationHead, OperationKind, OutgoingMessage, PaymentRecordStatus,
};
use usher_protocol::bolt11::Invoice;
use usher_protocol::kind;
use usher_protocol::message::PaymentHash;

use super::{IN_TIME, StreamBook, SubscriptionBook};
use crate::world::State;
use crate::world::nwc_wallet::PaymentState;

/// How long after a subscription has ended, or a date was paid, a request may still be on its way, in milliseconds: the store
/// may be slow.
const ON_ITS_WAY: u64 = 30_000;

/// How long after a leap of the clocks nobody is charged, in milliseconds.
const NO_CHARGES: u64 = 10 * 60_000;

impl State {
    pub(crate) fn committed(&mut self, commits: &[Commit], heads: &[OperationHead]) {
        for (commit, head) in commits.iter().zip(heads) {
            let state: Value = serde_json::from_str(&commit.state.0).unwrap_or_default();
            self.book(commit, &state);
            let first = head.next_index.saturating_sub(commit.events.len() as u64);
            let known = self.invariants.streams.get(&commit.operation).map_or(0, |book| book.events.len() as u64);
            if first != known {
                let what =
                    format!("{}: {known} events, and then number {first}", self.invariants.label(commit.operation));
                self.violation("no-gaps", &what);
            }
            for (index, event) in (first..).zip(&commit.events) {
                self.emitted(commit.operation, event.clone().at_index(index));
            }
            self.booked(commit);
        }
    }

    /// The books say that a payment is paid from the moment on at which its stream does.
    fn booked(&mut self, commit: &Commit) {
        let Some(book) = self.invariants.streams.get(&commit.operation) else { return };
        let told = matches!(book.kind, OperationKind::SinglePayment | OperationKind::OutgoingPayment)
            && book.statuses.iter().any(|status| status == "paid");
        let record = commit.payment_record.as_ref();
        let booked = record.is_some_and(|record| record.status == PaymentRecordStatus::Paid);
        let has_amount = record.is_some_and(|record| record.settled.is_some());
        if booked != told || has_amount != told {
            let what = format!("{}: the stream says {told}, the books {booked}", book.label);
            self.violation("books-agree", &what);
        }
    }

    fn book(&mut self, commit: &Commit, state: &Value) {
        let (id, now) = (commit.operation, self.now());
        if !self.invariants.streams.contains_key(&id) {
            let label = if id == StreamId::SUBSCRIPTIONS {
                "subscriptions".to_owned()
            } else {
                format!("{} #{}", commit.kind.as_str(), self.invariants.streams.len())
            };
            self.log(&format!("{label} is durable"));
            let text = |field: &str| state.get(field).and_then(Value::as_str).map(str::to_owned);
            let link = state.get("subscription");
            let charge = link.and_then(|link| {
                let number = link.get("charge")?.get("number")?.as_u64()?;
                Some((link.get("subscription_id")?.as_str()?.to_owned(), number))
            });
            let of_others = state.get("bill").and_then(|bill| bill.get("other")).and_then(|other| other.get("invoice"));
            let invoice = of_others.or_else(|| state.get("invoice")).and_then(Value::as_str);
            let pays = invoice.and_then(|text| text.parse::<Invoice>().ok()).map(|invoice| invoice.payment_hash());
            if let Some(request) = text("request_id") {
                self.invariants.requests.insert(request, id);
            }
            if let Some((id, _)) = &charge
                && let Some(subscription) = self.invariants.subscriptions.get(id)
            {
                let is_held = |leapt: u64| (leapt + ON_ITS_WAY..leapt + NO_CHARGES).contains(&now);
                // Where there was none before, nothing says that the clock has leapt.
                if self.invariants.leaps.iter().any(|(leapt, _)| subscription.began < *leapt && is_held(*leapt)) {
                    self.violation("no-charge-after-a-leap", &format!("{label} begins"));
                }
            }
            let book = StreamBook {
                label,
                kind: commit.kind,
                events: Vec::new(),
                statuses: Vec::new(),
                invoices: Vec::new(),
                pays,
                began: now,
                waits: false,
                charge,
                is_reusable_login: state.get("login").is_some_and(Value::is_object),
                done: false,
                finished: false,
            };
            self.invariants.streams.insert(id, book);
        }
        if let Some(book) = self.invariants.streams.get_mut(&id) {
            if book.waits {
                book.began = now;
            }
            book.waits = state.get("holds").is_some();
            book.done = commit.done;
            book.finished = commit.finished;
            book.invoices.extend(commit.watched.filter(|hash| !book.invoices.contains(hash)));
        }
        if commit.kind == OperationKind::Subscription
            && let Some(id) = state.get("subscription_id").and_then(Value::as_str)
        {
            let over = state.get("ended_at").is_some_and(|at| !at.is_null());
            let new = || SubscriptionBook { began: now, ..SubscriptionBook::default() };
            let book = self.invariants.subscriptions.entry(id.to_owned()).or_insert_with(new);
            if over && book.over_at.is_none() {
                book.over_at = Some(now);
                self.log(&format!("{id} is over"));
            }
        }
    }

    fn emitted(&mut self, stream: StreamId, event: Event) {
        let now = self.now();
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let status = data.get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
        let label = self.invariants.label(stream);
        self.log(&format!("{label}: {} {status} is durable", event.event_type));
        let event_type = event.event_type;
        let Some(book) = self.invariants.streams.get_mut(&stream) else { return };
        let (kind, pays, invoices, is_reusable_login) =
            (book.kind, book.pays, book.invoices.clone(), book.is_reusable_login);
        book.events.push((event, now));
        let before = book.statuses.iter().filter(|said| **said == status).count();
        book.statuses.push(status.clone());
        if is_reusable_login {
            // Who is challenged there needs no further challenge.
            return self.told_at_reusable_login(event_type, &status, &data);
        }
        if stream == StreamId::SUBSCRIPTIONS {
            let number = data.get("number").and_then(Value::as_u64).unwrap_or_default();
            let id = data.get("subscription_id").and_then(Value::as_str).unwrap_or_default();
            if event_type == EventType::SubscriptionPayment && status == "paid" {
                let paid = self.invariants.subscriptions.entry(id.to_owned()).or_default().paid.insert(number, now);
                if paid.is_some() && self.plan.set_backs == 0 {
                    self.violation("a-date-is-paid-once", &format!("date {number} of {id} is told twice"));
                }
            }
        } else if status == "paid" {
            if before > 0 {
                self.violation("paid-once", &format!("{label} says it again"));
            }
            self.said_paid(stream, &label, kind, pays, &invoices);
        } else if kind == OperationKind::OutgoingPayment
            && data.get("outcome").and_then(Value::as_str) == Some("not_paid")
            && let Some(hash) = pays
        {
            self.invariants.said_not_paid.insert(hash);
            let state = self.node.outgoing.get(&hash).map(|outgoing| outgoing.state);
            if matches!(state, Some(PaymentState::InFlight | PaymentState::Succeeded)) {
                self.violation("not-paid-is-final", &format!("{label} says so, and it is {state:?}"));
            }
        }
        if status == "approval_required" {
            self.waits_for_approval(stream);
        }
        self.told(event_type, &data);
    }

    fn said_paid(
        &mut self,
        stream: StreamId,
        label: &str,
        kind: OperationKind,
        pays: Option<PaymentHash>,
        invoices: &[PaymentHash],
    ) {
        let now = self.now();
        let proven = match kind {
            OperationKind::SinglePayment => {
                let settled = invoices.iter().find_map(|hash| {
                    let at = self.node.incoming.get(hash)?.settled_at?;
                    Some((*hash, at))
                });
                match settled {
                    None => false,
                    Some((hash, at)) => {
                        if self.invariants.used.insert(hash, stream).is_some_and(|other| other != stream) {
                            self.violation("one-settlement-one-paid", &format!("{label} says paid by another's money"));
                        }
                        let timed_out =
                            self.invariants.streams.get(&stream).is_some_and(|book| book.statuses.len() > 1);
                        let allowed = IN_TIME + 4 * self.invariants.bad_between(at, now);
                        let took = now.saturating_sub(at);
                        if took > allowed && !timed_out {
                            let what = format!("{label} says paid {} s after it was", took / 1000);
                            self.violation("paid-in-time", &what);
                        }
                        true
                    }
                }
            }
            OperationKind::InvoicePayment => pays.is_some_and(|hash| self.invariants.paid_to_others.contains(&hash)),
            OperationKind::OutgoingPayment => pays
                .and_then(|hash| self.node.outgoing.get(&hash))
                .is_some_and(|outgoing| outgoing.state == PaymentState::Succeeded),
            _ => true,
        };
        if !proven {
            self.violation("paid-with-a-settlement", &format!("{label} says paid, and nothing was"));
        }
    }

    pub(crate) fn attempted(&mut self, attempt: &DeliveryAttempt) {
        if attempt.status != DeliveryStatus::Failed {
            return;
        }
        let (key, now) = ((attempt.stream, attempt.index), self.now());
        self.invariants.given_up.insert(key);
        let label = self.invariants.label(attempt.stream);
        let began = self.app.receiver.first_posts.get(&key).copied().unwrap_or(now);
        let tried = now.saturating_sub(began) / 3_600_000;
        self.log(&format!("webhook: {label} event {} is given up", attempt.index));
        // The last pause is ten hours at the longest.
        if tried < 60 {
            let what = format!("{label} event {} was given up after {tried} hours of trying", attempt.index);
            self.violation("tried-for-three-days", &what);
        }
    }

    /// The engine sends a message to a user.
    pub(crate) fn asks(&mut self, message: &OutgoingMessage) {
        if message.kind != kind::PAYMENT_REQUEST {
            return;
        }
        let content: Value = serde_json::from_str(&message.content).unwrap_or_default();
        let request = content.get("request_id").and_then(Value::as_str).unwrap_or_default();
        let Some(book) = self.invariants.requests.get(request).and_then(|stream| self.invariants.streams.get(stream))
        else {
            return;
        };
        let (label, Some((id, number))) = (book.label.clone(), book.charge.clone()) else { return };
        let Some(subscription) = self.invariants.subscriptions.get(&id) else { return };
        let (now, over, paid) = (self.now(), subscription.over_at, subscription.paid.get(&number).copied());
        if over.is_some_and(|at| at + ON_ITS_WAY < now) {
            self.violation("no-charge-after-the-end", &format!("{label} is asked for, and {id} is over"));
        }
        if paid.is_some_and(|at| at + ON_ITS_WAY < now) {
            self.violation(
                "no-charge-of-a-paid-date",
                &format!("{label} is asked for, and date {number} of {id} is paid"),
            );
        }
    }
}
