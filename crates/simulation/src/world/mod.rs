//! The world around the service: relays, users, the wallet behind the Lightning backend, the app, the disk.
//!
//! It consists of data and a queue of future events; no part of it runs by itself. So it survives any failure of the service,
//! and only the seed decides what happens.

pub(crate) mod action;
pub(crate) mod app;
pub(crate) mod approvals;
mod final_checks;
pub(crate) mod invariants;
pub(crate) mod nwc_wallet;
pub(crate) mod outage;
pub(crate) mod relay;
pub(crate) mod reusable_login;
mod schedule;
pub(crate) mod time;
pub(crate) mod user;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nostr::Event;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::Preimage;
use usher_protocol::{Keys, nwc};
pub(crate) use usher_testing::ports::user as keys;

use self::action::Action;
use self::app::App;
use self::invariants::InvariantChecker;
use self::nwc_wallet::Node;
use self::relay::Relay;
use self::time::{Time, millis};
use self::user::User;
use crate::fault_plan::FaultPlan;
use crate::run_log::History;
use crate::seeded_decisions::Decisions;

/// So often at most is it reported that one rule was broken.
const MAX_REPORTED: usize = 3;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) time: Arc<Time>,
    state: Mutex<State>,
    /// Something was put into the queue.
    pub(crate) queued: Notify,
    /// The service is to die at this instant.
    pub(crate) killed: Notify,
}

/// All of it but the time.
#[derive(Debug)]
pub(crate) struct State {
    /// What the seed decided beforehand.
    pub(crate) plan: FaultPlan,
    /// What it decides on the way.
    pub(crate) decisions: Decisions,
    pub(crate) history: History,
    /// What must hold.
    pub(crate) invariants: InvariantChecker,
    /// The service's own relay first, then one of each user's.
    pub(crate) relays: Vec<Relay>,
    pub(crate) users: Vec<User>,
    /// The wallet behind the Lightning backend.
    pub(crate) node: Node,
    pub(crate) app: App,
    pub(crate) service: Keys,
    pub(crate) disk_full_until: u64,
    /// The service is killed at the so-manyth instant of interest from now.
    pub(crate) kill_in: Option<u64>,
    pub(crate) starts: u64,
    /// Whether it runs.
    pub(crate) up: bool,
    /// No more goes wrong.
    pub(crate) calm: bool,
    time: Arc<Time>,
    queue: BTreeMap<(u64, u64), Action>,
    numbers: u64,
}

pub(crate) fn preimage(number: u64) -> Preimage {
    usher_testing::ports::preimage(usize::try_from(number).unwrap_or_default())
}

/// An invoice of a node for the preimage with this number, made at `now` (Unix seconds).
pub(crate) fn invoice(node: u8, number: u64, amount: u64, now: u64, expiry: u64) -> Invoice {
    usher_testing::ports::invoice(node, usize::try_from(number).unwrap_or_default(), amount, now, expiry)
}

impl World {
    pub(crate) fn new(plan: FaultPlan, decisions: Decisions) -> Arc<Self> {
        let time = Arc::new(Time::default());
        let service = keys(200);
        let mut state = State {
            invariants: InvariantChecker::default(),
            relays: Vec::new(),
            users: Vec::new(),
            node: Node::new(),
            app: App::default(),
            service,
            disk_full_until: 0,
            kill_in: None,
            starts: 0,
            up: false,
            calm: false,
            history: History::default(),
            queue: BTreeMap::new(),
            numbers: 0,
            time: Arc::clone(&time),
            plan,
            decisions,
        };
        state.people();
        state.prepare();
        Arc::new(Self { time, state: Mutex::new(state), queued: Notify::new(), killed: Notify::new() })
    }

    /// The state. Never held while the service does something.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Lets something happen after a while.
    pub(crate) fn later(&self, after: Duration, action: Action) {
        self.lock().later(after, action);
        self.queued.notify_one();
    }

    /// An instant of interest: the service may be killed here. When it is, this never returns.
    pub(crate) async fn instant(&self, what: &str) {
        let dies = {
            let mut state = self.lock();
            let dies = match &mut state.kill_in {
                Some(0) => true,
                Some(left) => {
                    *left -= 1;
                    false
                }
                None => false,
            };
            if dies {
                state.kill_in = None;
                state.log(&format!("! killed {what}"));
            }
            dies
        };
        if dies {
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

impl State {
    /// Milliseconds since the beginning.
    pub(crate) fn now(&self) -> u64 {
        self.time.passed()
    }

    /// Unix seconds on everybody's wall.
    pub(crate) fn secs(&self) -> u64 {
        self.time.wall().secs()
    }

    pub(crate) fn log(&mut self, what: &str) {
        let now = self.now();
        self.history.log(now, what);
    }

    pub(crate) fn violation(&mut self, rule: &'static str, what: &str) {
        self.log(&format!("VIOLATION of {rule}: {what}"));
        // A rule that is violated once is usually violated often.
        if self.invariants.violations.iter().filter(|broken| broken.rule == rule).count() >= MAX_REPORTED {
            return;
        }
        self.invariants.violations.push(invariants::Violation { rule, what: what.to_owned() });
    }

    /// A number that no other thing has.
    pub(crate) const fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Schedules an action. A caller that does this while the service runs wakes the driver.
    pub(crate) fn later(&mut self, after: Duration, action: Action) {
        let at = self.now() + millis(after);
        let number = self.number();
        self.queue.insert((at, number), action);
    }

    /// When the next thing happens.
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn next_due(&mut self) -> Option<Action> {
        let now = self.now();
        let entry = self.queue.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// A delay on the way of a message.
    fn latency(&mut self) -> Duration {
        let latency = if self.calm { 5..200 } else { self.plan.latency.clone() };
        self.decisions.delay(latency)
    }

    /// Whether a message is lost, and how often it arrives.
    fn copies(&mut self) -> u32 {
        if self.calm {
            1
        } else if self.decisions.percent(self.plan.lost) {
            0
        } else {
            1 + u32::from(self.decisions.percent(self.plan.doubled))
        }
    }

    pub(crate) fn publish(&mut self, relay: usize, event: &Event, what: &str) {
        let now = self.now();
        let Some(at) = self.relays.get(relay).filter(|relay| relay.down_until <= now) else {
            return self.log(&format!("{what}: the relay is down"));
        };
        let wanted = at.wanted_by(event);
        if wanted.is_empty() {
            self.log(&format!("{what}: nobody listens"));
        }
        for (connection, text) in wanted {
            for _ in 0..self.copies() {
                let latency = self.latency();
                let action = Action::FromRelay { relay, connection, text: text.clone(), event: event.id };
                self.later(latency, action);
            }
        }
    }

    pub(crate) fn published(&mut self, relay: usize, event: Event) {
        if event.kind.as_u16() == nwc::REQUEST {
            *self.node.sent.entry(event.id).or_default() += 1;
            for _ in 0..self.copies() {
                let latency = self.latency();
                self.later(latency, Action::ToNode { event: event.clone() });
            }
            return;
        }
        for user in 0..self.users.len() {
            let for_them = self.users.get(user).is_some_and(|user| {
                user.relays.contains(&relay) && event.tags.public_keys().any(|key| *key == user.keys.public_key())
            });
            if for_them {
                for _ in 0..self.copies() {
                    let latency = self.latency();
                    self.later(latency, Action::ToUser { user, event: event.clone() });
                }
            }
        }
    }
}
