//! Decides at which times actions happen, and carries them out one at a time.

use std::time::Duration;

use super::State;
use super::action::Action;
use super::time::millis;
use crate::fault_plan::Workload;

/// A leap of the clock by more than this may be a mistake.
const DAY: Duration = Duration::from_secs(86_400);

impl State {
    pub(super) fn prepare(&mut self) {
        let plan = self.plan.clone();
        self.log(&format!("plan: {plan:?}"));
        if let Some(script) = plan.script {
            self.prepare_script(script);
            return self.announce();
        }
        let trouble = millis(plan.trouble);
        self.node.profile.notifies = self.decisions.percent(60);
        self.node.profile.forgets_outgoing = self.decisions.percent(25);
        self.node.profile.repeats_paid = self.decisions.percent(25);
        self.node.profile.remembers = self.decisions.percent(70);
        self.announce();
        self.log(&format!("the wallet: {:?}", self.node.profile));
        self.plan_calls(trouble);
        let times = |state: &mut Self, count: u64, make: &mut dyn FnMut(&mut Self) -> Action| {
            for _ in 0..count {
                let at = Duration::from_millis(state.decisions.number(1000..trouble));
                let action = make(state);
                state.later(at, action);
            }
        };
        let outage = |state: &mut Self| state.decisions.delay(state.plan.outage.clone());
        times(self, plan.kills, &mut |state| {
            if state.decisions.percent(state.plan.kills_at_instants) {
                Action::KillAt(state.decisions.number(0..40))
            } else {
                Action::Kill
            }
        });
        times(self, plan.restarts, &mut |_| Action::Restart(None));
        times(self, plan.disk_full, &mut |state| {
            Action::DiskFull(Duration::from_millis(state.decisions.number(5_000..240_000)))
        });
        times(self, plan.relay_outages, &mut |state| {
            let relays = state.relays.len() as u64;
            let relay = if state.decisions.percent(60) { 0 } else { state.decisions.number(0..relays) };
            Action::RelayDown(usize::try_from(relay).unwrap_or_default(), outage(state))
        });
        times(self, plan.node_outages, &mut |state| Action::NodeAway(outage(state)));
        let away = if plan.workload == Workload::Years { 0 } else { plan.users as u64 };
        times(self, away, &mut |state| {
            let user = state.decisions.number(0..state.users.len() as u64);
            Action::UserAway(usize::try_from(user).unwrap_or_default(), outage(state))
        });
        times(self, plan.receiver_outages, &mut |state| {
            let long = state.plan.workload == Workload::Days && state.decisions.percent(50);
            let lasts = if long {
                state.decisions.number(3_600_000..80 * 3_600_000)
            } else {
                state.decisions.number(1000..400_000)
            };
            Action::ReceiverFails(Duration::from_millis(lasts))
        });
        times(self, plan.set_backs, &mut |state| {
            Action::SetBack(Duration::from_secs(state.decisions.number(600..18_000)))
        });
        times(self, plan.set_forwards, &mut |state| {
            Action::SetForward(Duration::from_secs(state.decisions.number(600..18_000)))
        });
        for _ in 0..plan.leaps {
            let at = Duration::from_millis(self.decisions.number(1000..trouble));
            let by = DAY * 3 / 2 + Duration::from_secs(self.decisions.number(0..30 * 86_400));
            self.later(at, Action::SetForward(by));
            let corrected = at + Duration::from_secs(self.decisions.number(5..570));
            self.later(corrected, Action::SetBack(by));
        }
        times(self, plan.calls / 2, &mut |_| Action::Look);
        self.later(plan.trouble, Action::Calm);
        if plan.workload == Workload::Years {
            // From 15 January 2027 to two days before the second New Year. Recently reached users are remembered until the next
            // start.
            let (day, down) = (Duration::from_secs(86_400), Duration::from_secs(715 * 86_400));
            self.later(plan.trouble, Action::Restart(Some(down)));
            self.later(plan.trouble + down + day * 3 / 2, Action::Restart(None));
            self.later(down + day * 2 + plan.recovery, Action::End);
        } else {
            self.later(plan.trouble + plan.recovery, Action::End);
        }
    }

    /// The wallet announces itself; the relay keeps that.
    fn announce(&mut self) {
        let Some(announcement) = self.node.announcement(self.secs()) else { return };
        if let Some(relay) = self.relays.first_mut() {
            relay.keep(&announcement);
        }
        self.publish(0, &announcement, "the wallet announces itself");
    }

    /// Lets an action happen; what only the service's keeper can do is given back.
    pub(crate) fn act(&mut self, action: Action) -> Option<Action> {
        let now = self.now();
        match action {
            Action::Call(call) => return self.begin(call).map(Action::Call),
            Action::FromRelay { relay, connection, text, event } => {
                let to = self.relays.get(relay).and_then(|relay| relay.connections.get(&connection));
                if to.is_some_and(|to| to.out.send(text).is_ok()) && self.up {
                    self.invariants.arrived(event, now, self.starts);
                } else {
                    self.log("a message finds its connection gone");
                }
            }
            Action::ToUser { user, event } => self.user_hears(user, &event),
            Action::UserActs { who, action } => self.user_acts(who, action),
            Action::UserCloses { who, id } => self.user_closes(who, id),
            Action::ToNode { event } => self.node_hears(&event),
            Action::NodeActs(request) => self.node_acts(&request),
            Action::PaymentEnds { hash, succeeds, answers } => self.payment_ends(hash, succeeds, answers),
            Action::Look | Action::End => return Some(action),
            Action::Kill if self.up => {
                self.log("! killed");
                return Some(Action::Kill);
            }
            Action::KillAt(nth) => self.kill_in = Some(nth),
            Action::Restart(_) if self.up => return Some(action),
            Action::Kill | Action::Restart(_) => {}
            Action::DiskFull(lasts) => {
                self.disk_full_until = now + millis(lasts);
                self.bad("! the disk is full", lasts);
            }
            Action::RelayDown(relay, lasts) => {
                let end = now + millis(lasts);
                let at = self.relays.get_mut(relay)?;
                at.go_down(end);
                let host = at.host;
                self.bad(&format!("! the relay {host} is down"), lasts);
            }
            Action::UserAway(who, lasts) => {
                let end = now + millis(lasts);
                let user = self.users.get_mut(who)?;
                user.away_until = user.away_until.max(end);
                let name = user.name;
                self.log(&format!("! {name}'s wallet is away for {} s", lasts.as_secs()));
            }
            Action::NodeAway(lasts) => {
                self.node.away_until = self.node.away_until.max(now + millis(lasts));
                self.bad("! the wallet is away", lasts);
                self.later(lasts, Action::NodeBack);
            }
            Action::NodeBack if self.node.away_until <= now => self.announce(),
            Action::NodeBack => {}
            Action::ReceiverFails(lasts) => {
                self.app.receiver.fails_until = self.app.receiver.fails_until.max(now + millis(lasts));
                self.bad("! the receiver fails", lasts);
            }
            Action::SetBack(by) => {
                self.time.set_back(by);
                self.invariants.leaps.retain(|(_, ahead)| *ahead != by);
                self.log(&format!("! the clocks are set back by {} s", by.as_secs()));
            }
            Action::SetForward(by) => {
                self.time.set_forward(by);
                self.log(&format!("! the clocks are set forward by {} s", by.as_secs()));
                if by > DAY {
                    self.invariants.leaps.push((now, by));
                    self.invariants.has_leapt = true;
                }
            }
            Action::Calm => {
                self.log("nothing goes wrong from now on");
                self.calm = true;
                self.kill_in = None;
            }
        }
        None
    }

    /// Something does not work for a while.
    pub(super) fn bad(&mut self, what: &str, lasts: Duration) {
        self.log(&format!("{what} for {} s", lasts.as_secs()));
        let now = self.now();
        self.invariants.bad.push((now, now + millis(lasts)));
    }
}
