//! How the wallet answers its next requests, as a test has scripted.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::Currency;

use super::RequestContent;

pub const MAX_OUTCOMES: usize = 1_000;

usher_protocol::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Outcome {
        Approve = "approve",
        Decline = "decline",
        /// Reports a failed payment, or that it does not hold the ticket.
        Fail = "fail",
        /// Approves after [`SLOW`](super::SLOW).
        Slow = "slow",
        /// Pays the invoice right after the request has expired.
        PayLate = "pay_late",
        /// Never receives the request.
        Offline = "offline",
    }
}

usher_protocol::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RequestType {
        Login = "login",
        /// A payment, also a charge of a subscription.
        Payment = "payment",
        Subscription = "subscription",
        Ticket = "ticket",
    }
}

impl RequestType {
    const fn of(content: &RequestContent) -> Option<Self> {
        match content {
            RequestContent::Authentication(_) => Some(Self::Login),
            RequestContent::Payment(_) => Some(Self::Payment),
            RequestContent::Recurring(_) => Some(Self::Subscription),
            RequestContent::Ticket(_) => Some(Self::Ticket),
            _ => None,
        }
    }

    /// Whether a request of this type can have the outcome.
    pub const fn can(self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Approve | Outcome::Decline | Outcome::Slow | Outcome::Offline => true,
            Outcome::Fail => matches!(self, Self::Payment | Self::Ticket),
            Outcome::PayLate => matches!(self, Self::Payment),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedOutcome {
    pub outcome: Outcome,
    /// The type of the requests; any without it.
    pub request_type: Option<RequestType>,
    /// The amount of the requests, in millisats; any without it.
    pub amount_millisats: Option<u64>,
    /// How many more requests have it; 0: all that come.
    pub times_left: u64,
}

impl ScriptedOutcome {
    fn matches(&self, content: &RequestContent) -> bool {
        let found = RequestType::of(content);
        content.is_request()
            && !matches!(content, RequestContent::Token(_))
            && self.request_type.is_none_or(|wanted| found == Some(wanted))
            && found.map_or(!matches!(self.outcome, Outcome::Fail | Outcome::PayLate), |found| found.can(self.outcome))
            && self.amount_millisats.is_none_or(|wanted| millisats(content) == Some(wanted))
    }
}

/// A payment in another currency has its invoice's amount.
fn millisats(content: &RequestContent) -> Option<u64> {
    let invoice = match content {
        RequestContent::Payment(asked) => asked.invoice.parse::<Invoice>().ok(),
        _ => None,
    };
    let asked = || content.amount().filter(|(_, currency)| **currency == Currency::Millisats).map(|(amount, _)| amount);
    invoice.and_then(|invoice| invoice.amount()).or_else(asked)
}

/// The scripted outcomes, in the order given. A clone is another handle of the same list.
#[derive(Clone, Debug, Default)]
pub struct ScriptedOutcomes(Arc<Mutex<VecDeque<ScriptedOutcome>>>);

impl ScriptedOutcomes {
    /// Adds one at the end; `false` if there are [`MAX_OUTCOMES`].
    pub fn add(&self, outcome: ScriptedOutcome) -> bool {
        let mut list = self.0.lock();
        let has_room = list.len() < MAX_OUTCOMES;
        if has_room {
            list.push_back(outcome);
        }
        has_room
    }

    /// Those that are not used up.
    pub fn all(&self) -> Vec<ScriptedOutcome> {
        self.0.lock().iter().cloned().collect()
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// The outcome of a new request: the first that matches.
    pub(super) fn take(&self, content: &RequestContent) -> Option<Outcome> {
        let mut list = self.0.lock();
        let at = list.iter().position(|scripted| scripted.matches(content))?;
        let scripted = list.get_mut(at)?;
        let outcome = scripted.outcome;
        if scripted.times_left == 1 {
            list.remove(at);
        } else {
            scripted.times_left = scripted.times_left.saturating_sub(1);
        }
        Some(outcome)
    }
}
