//! What happens in the world: outages.

use std::time::Duration;

use usher_engine::event::EventType;

use super::{DOWN, Operation, OutageTarget, Process, Script};
use crate::world::State;
use crate::world::action::{Action, AppRequest, Call};

/// When the operation begins, in milliseconds since the beginning.
const BEGINS: u64 = 60_000;

/// For how long the counterpart is away: shorter than anything expires.
const AWAY: Duration = Duration::from_secs(40);

impl State {
    pub(in crate::world) fn prepare_script(&mut self, script: Script) {
        let at = Duration::from_millis;
        self.node.profile.notifies = true;
        self.node.profile.remembers = true;
        let first = (self.secs() / 60 + 1) * 60;
        let subscribe = |first| AppRequest::Subscribe { user: 0, first, yearly: false, charges: Some(1) };
        let call = |what| Action::Call(Call { number: 1, what, once: false });
        match script.operation {
            Operation::Handshake => self.later(at(BEGINS), call(AppRequest::Handshake(0))),
            Operation::Authenticate => self.later(at(BEGINS), call(AppRequest::Authenticate(0))),
            Operation::Payment => {
                self.later(at(BEGINS), call(AppRequest::Payment { user: 0, lives: 300, subscription: None }));
            }
            Operation::Subscribe => self.later(at(BEGINS), call(subscribe(first + 300))),
            // It falls due at the instant at which others begin.
            Operation::Charge => self.later(at(10_000), call(subscribe(first))),
            Operation::Close => self.later(at(10_000), call(subscribe(first + 3000))),
            Operation::Invoice => self.later(at(BEGINS), call(AppRequest::Invoice(0))),
            Operation::PayTheirs => self.later(at(BEGINS), call(AppRequest::PayTheirs(0, None))),
            Operation::PayOurs | Operation::PayRefused => self.later(at(BEGINS), call(AppRequest::PayOurs(None))),
        }
        let begins = at(BEGINS - 5_000);
        match script.target {
            OutageTarget::Nobody => {}
            OutageTarget::Relay => self.later(begins, Action::RelayDown(0, AWAY)),
            OutageTarget::RelayUntilRestart => self.later(begins, Action::RelayDown(0, at(20_000))),
            OutageTarget::User => self.later(begins, Action::UserAway(0, AWAY)),
            OutageTarget::Lightning => self.later(begins, Action::NodeAway(AWAY)),
            OutageTarget::Receiver => self.later(begins, Action::ReceiverFails(AWAY)),
        }
        let middle = at(BEGINS + if script.target == OutageTarget::RelayUntilRestart { 12_000 } else { 3_000 });
        match script.process {
            Process::GoesOn => {}
            Process::Restarted => self.later(middle, Action::Restart(Some(at(DOWN)))),
            Process::Killed => self.later(middle, Action::Kill),
            Process::KilledTwice => {
                self.later(middle, Action::Kill);
                self.later(middle + at(DOWN + 100), Action::Kill);
            }
        }
        self.later(self.plan.trouble, Action::Calm);
        self.later(self.plan.trouble + self.plan.recovery, Action::End);
    }

    /// By a script a subscription is closed when the others begin.
    pub(in crate::world) fn close_by_script(&mut self, id: String) {
        if self.plan.script.is_some_and(|script| script.operation == Operation::Close) {
            let after = Duration::from_millis(BEGINS.saturating_sub(self.now()));
            self.later(after, Action::Call(Call { number: 2, what: AppRequest::Close { user: 0, id }, once: false }));
        }
    }

    /// The results that are missing compared with a run without the outage.
    pub(in crate::world) fn missing(&self, script: Script) -> Option<String> {
        let said =
            |status: &str| self.invariants.streams.values().any(|book| book.statuses.iter().any(|said| said == status));
        let event = |wanted: EventType| {
            let mut events = self.invariants.streams.values().flat_map(|book| &book.events);
            events.any(|(event, _)| event.event_type == wanted)
        };
        if script.operation == Operation::PayRefused {
            let mut data = self.invariants.streams.values().flat_map(|book| &book.events).map(|(event, _)| &event.data);
            let refused = data.any(|data| data.contains("\"not_paid\""));
            // Of a request that was sent twice, another copy may have been acted on. A process that was killed in its
            // first moments cannot know whether it sent the request.
            let sent_twice = |id| self.node.sent.get(id).is_some_and(|copies| *copies > 1);
            let mut asked = self.node.outgoing.values().flat_map(|outgoing| &outgoing.paid_by);
            if asked.any(sent_twice)
                || script.target == OutageTarget::Lightning
                || script.process == Process::KilledTwice
            {
                return None;
            }
            return (!refused).then(|| format!("{script:?} is not said to be refused"));
        }
        let there = match script.operation {
            Operation::Handshake => event(EventType::KeyHandshake) && said("approved"),
            Operation::Authenticate => said("approved"),
            Operation::Payment | Operation::PayTheirs | Operation::PayOurs | Operation::PayRefused => said("paid"),
            Operation::Subscribe | Operation::Charge => {
                event(EventType::Subscription) && event(EventType::SubscriptionPayment) && said("paid")
            }
            Operation::Close => {
                let told = self.users.iter().flat_map(|user| user.subscriptions.values()).any(|closed| *closed);
                told && self.invariants.subscriptions.values().all(|book| book.over_at.is_some())
            }
            Operation::Invoice => event(EventType::InvoiceResponse),
        };
        let failed = ["timeout", "error", "user_rejected", "declined"].into_iter().find(|status| said(status));
        match (there, failed) {
            (true, None) => None,
            (true, Some(status)) => Some(format!("{script:?} ends well, and says {status}")),
            (false, _) => Some(format!("{script:?} does not end as without it")),
        }
    }
}
