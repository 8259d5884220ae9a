//! The configurable misbehavior of a wallet service.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use usher_sandbox::lightning::nwc::Capabilities;
use usher_sandbox::lightning::{ErrorCode, Method};

/// How a wallet service behaves; each field may change while it runs. By default it is fast and honest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// What an honest service has, too.
    pub capabilities: Capabilities,
    /// Whether it knows a request that it has had.
    pub memory: Memory,
    /// How long it takes from acting to answering.
    pub latency: Duration,
    /// How it handles calls of a method, if not correctly.
    pub by_method: BTreeMap<Method, CallBehaviour>,
    /// How it handles the next calls of a method, one after the other, before [`Self::by_method`] applies.
    pub next: BTreeMap<Method, VecDeque<CallBehaviour>>,
    /// How its look-ups are not true.
    pub lookups: Option<LookupLie>,
    /// Payments stay in flight, and unanswered, until
    /// [`release_payments`](super::FaultyNwcService::release_payments).
    pub holds_payments: bool,
}

impl Behaviour {
    pub fn on(&mut self, method: Method, call_behaviour: CallBehaviour) {
        self.by_method.insert(method, call_behaviour);
    }

    /// What it does with the next call of `method` that has no such word yet.
    pub fn once(&mut self, method: Method, call_behaviour: CallBehaviour) {
        self.next.entry(method).or_default().push_back(call_behaviour);
    }

    pub(super) fn take(&mut self, method: Method) -> CallBehaviour {
        let next = self.next.get_mut(&method).and_then(VecDeque::pop_front);
        next.or_else(|| self.by_method.get(&method).copied()).unwrap_or(CallBehaviour::Honest)
    }
}

/// How long requests are known by their event ids, so that a copy is not acted on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Also when the service was stopped and started again.
    #[default]
    Lasting,
    /// Until the service is stopped.
    WhileRunning,
    /// Not at all: each copy is executed. The account still pays an invoice only once.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallBehaviour {
    /// Executed and answered.
    Honest,
    /// Neither executed nor answered.
    Ignore,
    /// Executed, not answered.
    Mute,
    /// Executed once, answered twice.
    Twice,
    /// Executed; the answer waits for [`release`](super::FaultyNwcService::release), also across a stop and a new start.
    Hold,
    Refuse(ErrorCode),
    /// Executed; the answer is no JSON.
    Garble,
    /// Executed; the answer has neither result nor error.
    Empty,
}

/// How a look-up is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupLie {
    /// `NOT_FOUND` for payments, true for invoices.
    ForgetPayments,
    /// Payments as if they were invoices, with their state.
    PaymentsAsInvoices,
    SettledWithWrongPreimage,
}
