//! What happens in the world: the app and its operator.

use std::time::Duration;

use serde_json::Value;
use usher_engine::StreamId;
use usher_engine::event::EventType;
use usher_engine::ports::Posted;

use super::Acknowledged;
use crate::fault_plan::Workload;
use crate::world::State;
use crate::world::action::{Action, AppRequest, Call, WalletAction};
use crate::world::invoice;
use crate::world::nwc_wallet::PAYEE;

/// How long an idempotency key is kept, in seconds.
const KEY_KEPT: u64 = 24 * 3600;

impl State {
    pub(in crate::world) fn plan_calls(&mut self, trouble: u64) {
        // On the minute, so that a lot falls due at once.
        let first = (self.secs() / 60 + 4) * 60;
        for _ in 0..self.plan.calls {
            let user = usize::try_from(self.decisions.number(0..self.users.len() as u64)).unwrap_or_default();
            let lives = if self.decisions.percent(30) { self.decisions.number(20..120) } else { 300 };
            let payment = AppRequest::Payment { user, lives, subscription: None };
            let charges = if self.decisions.percent(30) { Some(3) } else { None };
            let subscribe = AppRequest::Subscribe { user, first, yearly: false, charges };
            let page = self.decisions.percent(60);
            let what = match (self.plan.workload, self.decisions.number(0..10)) {
                (Workload::Years, _) => AppRequest::Subscribe { user, first, yearly: true, charges: None },
                (Workload::Subscriptions, 0..8) | (_, 0..1) => subscribe,
                (Workload::Paying, 0..7) => AppRequest::PayOurs(None),
                (Workload::ReusableLogin, 0..8) => AppRequest::ReusableLogin { user, page },
                (_, 1..4) => payment,
                (_, 4) => AppRequest::Handshake(user),
                (_, 5) => AppRequest::ReusableLogin { user, page },
                (_, 6) => AppRequest::Authenticate(user),
                (_, 7) => AppRequest::Invoice(user),
                (_, 8) => AppRequest::PayTheirs(user, None),
                _ => AppRequest::PayOurs(None),
            };
            let at = match what {
                AppRequest::Subscribe { .. } => self.decisions.number(1000..100_000),
                _ => self.decisions.number(1000..trouble * 8 / 10),
            };
            if self.plan.workload == Workload::Years {
                // A user who is reached at their own relay named it in a handshake before.
                self.call(Duration::from_millis(at / 4), AppRequest::Handshake(user));
            }
            self.call(Duration::from_millis(at), what);
        }
    }

    fn call(&mut self, after: Duration, what: AppRequest) {
        let (number, once) = (self.number(), self.decisions.percent(60));
        // The token makes the reusable login one; each browser has a page of its own.
        let once = once && !matches!(what, AppRequest::ReusableLogin { .. });
        self.later(after, Action::Call(Call { number, what, once }));
    }

    /// A call that is made again until it has a response.
    pub(in crate::world) fn call_until_answered(&mut self, after: Duration, what: AppRequest) {
        let number = self.number();
        self.later(after, Action::Call(Call { number, what, once: true }));
    }

    /// A call is about to be made. While the service is down it is made again later.
    pub(in crate::world) fn begin(&mut self, mut call: Call) -> Option<Call> {
        if !self.up {
            self.later(Duration::from_secs(2), Action::Call(call));
            return None;
        }
        match &mut call.what {
            AppRequest::PayOurs(given @ None) => *given = Some(self.payable()),
            AppRequest::PayTheirs(_, given @ None) => {
                let number = self.number();
                let made = invoice(PAYEE, number, 5_000, self.secs(), 600);
                self.invariants.of_others.insert(made.payment_hash(), number);
                *given = Some(made);
            }
            AppRequest::Decide { stream, decision, by_requester } => self.decides(*stream, *decision, *by_requester),
            _ => {}
        }
        let now = self.secs();
        self.app.begun.entry(call.number).or_insert(now);
        self.app.pending.insert(call.number, call.clone());
        let once = if call.once { ", once" } else { "" };
        self.log(&format!("call {}: {}{once}", call.number, self.words(&call.what)));
        Some(call)
    }

    fn words(&self, what: &AppRequest) -> String {
        let name = |user: &usize| self.users.get(*user).map_or("?", |user| user.name);
        match what {
            AppRequest::Handshake(user) => format!("a handshake for {}", name(user)),
            AppRequest::ReusableLogin { user, page } => {
                format!("{} comes to the door{}", name(user), if *page { "'s page" } else { "" })
            }
            AppRequest::Authenticate(user) => format!("{} shall prove their key", name(user)),
            AppRequest::Payment { user, lives, .. } => format!("{} shall pay within {lives} s", name(user)),
            AppRequest::Subscribe { user, .. } => format!("{} shall agree to a subscription", name(user)),
            AppRequest::Close { user, id } => format!("{id} of {} is closed", name(user)),
            AppRequest::Decide { stream, decision, by_requester } => {
                let who = if *by_requester { "who asked for it says" } else { "an operator says" };
                format!("{who} {} to {}", decision.as_str(), self.invariants.label(*stream))
            }
            AppRequest::Invoice(user) => format!("{} shall make an invoice", name(user)),
            AppRequest::PayTheirs(user, _) => format!("{} shall pay another's invoice", name(user)),
            AppRequest::PayOurs(invoice) => {
                let number = invoice.as_ref().and_then(|invoice| self.node.outgoing.get(&invoice.payment_hash()));
                format!("our own wallet shall make payment {}", number.map_or(0, |outgoing| outgoing.number))
            }
        }
    }

    /// The response to a request is a stream.
    pub(crate) fn answered(&mut self, call: &Call, stream: StreamId, token: Option<String>) {
        self.app.pending.remove(&call.number);
        let before = self.app.acknowledged.get(&call.number).map(|before| before.stream);
        // An idempotency key is kept for a day of the wall clock, also of one during which the service is down.
        let begun = self.app.begun.get(&call.number).copied().unwrap_or_default();
        let is_kept = self.secs().saturating_sub(begun) < KEY_KEPT && !self.invariants.has_leapt;
        if is_kept && before.is_some_and(|before| before != stream) {
            self.violation("done-once", &format!("call {} was answered with two streams", call.number));
        }
        self.log(&format!("call {} is answered: {}", call.number, self.invariants.label(stream)));
        self.app.acknowledged.insert(call.number, Acknowledged { stream, what: call.what.clone() });
        if before.is_none() && call.once && self.decisions.percent(25) {
            let after = Duration::from_millis(self.decisions.number(10..60_000));
            self.later(after, Action::Call(call.clone()));
        }
        if let (AppRequest::ReusableLogin { user, page }, Some(token)) = (&call.what, &token) {
            self.at_reusable_login(*user, *page, token.clone());
        }
        if let (AppRequest::Handshake(who), Some(token), None) = (&call.what, token, before) {
            let after = Duration::from_millis(self.decisions.number(500..20_000));
            if self.plan.script.is_some() {
                // A wallet sends it once; a user without a response scans again.
                self.later(
                    Duration::from_secs(120),
                    Action::UserActs { who: *who, action: WalletAction::Scan(token.clone()) },
                );
            }
            self.later(after, Action::UserActs { who: *who, action: WalletAction::Scan(token) });
        }
    }

    /// A call failed: with a key it is made again.
    pub(crate) fn failed(&mut self, call: &Call, why: &str) {
        self.log(&format!("call {} failed: {why}", call.number));
        self.app.pending.remove(&call.number);
        if call.once && (why.contains("store") || why.contains("active")) {
            self.later(Duration::from_secs(5), Action::Call(call.clone()));
        }
    }

    /// The process is a new one: requests without a response get none.
    pub(crate) fn ask_again(&mut self) {
        for call in std::mem::take(&mut self.app.pending).into_values() {
            if call.once {
                let after = Duration::from_millis(self.decisions.number(10..3000));
                self.later(after, Action::Call(call));
            }
        }
    }

    /// An event is durable: the app will act on it.
    pub(in crate::world) fn told(&mut self, event_type: EventType, data: &Value) {
        let who = |state: &Self| {
            let key = data.get("main_key").and_then(Value::as_str)?;
            state.users.iter().position(|user| user.keys.public_key().to_hex() == key)
        };
        match event_type {
            EventType::KeyHandshake if self.plan.workload != Workload::Years => {
                if let Some(user) = who(self) {
                    self.call(Duration::from_millis(300), AppRequest::Authenticate(user));
                }
            }
            EventType::Subscription if self.plan.workload != Workload::Years => {
                let (Some(user), Some(id)) = (who(self), data.get("subscription_id").and_then(Value::as_str)) else {
                    return;
                };
                let id = id.to_owned();
                if self.plan.script.is_some() {
                    return self.close_by_script(id);
                }
                if self.decisions.percent(30) {
                    let after = Duration::from_millis(self.decisions.number(1000..60_000));
                    self.call(after, AppRequest::Payment { user, lives: 300, subscription: Some(id.clone()) });
                }
                if self.decisions.percent(60) {
                    // When a date falls due, and a moment later.
                    let minutes = self.decisions.number(1..6);
                    let on_the_minute = 60_000 - self.time.wall().0 % 60_000 + minutes * 60_000;
                    let wobble = self.decisions.number(0..self.plan.disk.end + 100);
                    self.call(Duration::from_millis(on_the_minute + wobble), AppRequest::Close { user, id });
                }
            }
            _ => {}
        }
    }

    /// The receiver gets a post and decides on its response; `None` if it does not respond.
    pub(crate) fn posted(&mut self, stream: StreamId, index: u64) -> Option<Posted> {
        let now = self.now();
        self.app.receiver.first_posts.entry((stream, index)).or_insert(now);
        let fails = self.app.receiver.fails_until > now
            || (!self.calm && self.plan.script.is_none() && self.decisions.percent(3));
        let label = self.invariants.label(stream);
        if fails {
            self.log(&format!("webhook: {label} event {index} is refused"));
            let silent = self.decisions.percent(20);
            let reason = "simulated".to_owned();
            return (!silent).then_some(Posted::Refused { http_status: Some(503), reason, retry_after: None });
        }
        self.log(&format!("webhook: {label} event {index} is accepted"));
        if let Some(missing) = self.missing_before(stream, index) {
            let what = format!("{label} event {index} came before event {missing}");
            self.violation("webhooks-in-order", &what);
        }
        let accepted = self.app.receiver.accepted.entry((stream, index)).or_default();
        accepted.push(now);
        accepted.retain(|at| at + 60_000 > now);
        let times = accepted.len();
        if times > 5 {
            let what = format!("{label} event {index} was accepted {times} times within a minute");
            self.violation("no-hammering", &what);
        }
        let before = (0..index).rev().find(|earlier| self.waits(stream, *earlier, index));
        let late = self.invariants.delivered(stream, index, before, now);
        if let Some(late) = late {
            self.violation("delivered-in-time", &late);
        }
        Some(Posted::Accepted { http_status: 200 })
    }

    /// The first event before this one that should have been accepted first.
    fn missing_before(&self, stream: StreamId, index: u64) -> Option<u64> {
        let is_missing = |earlier: u64| {
            let key = (stream, earlier);
            !self.app.receiver.accepted.contains_key(&key) && !self.invariants.given_up.contains(&key)
        };
        (0..index).find(|earlier| is_missing(*earlier) && self.waits(stream, *earlier, index))
    }

    /// Whether an event waits for an earlier one: on the stream of all subscriptions only if both are of the same subscription.
    fn waits(&self, stream: StreamId, earlier: u64, index: u64) -> bool {
        let subscription = |index: u64| {
            let events = &self.invariants.streams.get(&stream)?.events;
            let (event, _) = events.get(usize::try_from(index).ok()?)?;
            let data: serde_json::Value = serde_json::from_str(&event.data).ok()?;
            data.get("subscription_id")?.as_str().map(str::to_owned)
        };
        stream != StreamId::SUBSCRIPTIONS || subscription(earlier) == subscription(index)
    }
}
