//! What happens in the world: several instances that share a database.

use std::sync::atomic::Ordering;
use std::time::Duration;

use nostr::{Event, EventId};

use super::{ANSWERED, InstanceFault, LEASE, ON_ITS_WAY, READ, Seat, Target};
use crate::world::State;
use crate::world::action::Action;
use crate::world::nwc_wallet::REQUEST;
use crate::world::time::millis;

/// How long a message that was sent is on its way to the relay's end of the connection, in milliseconds: two steps.
const ON_THE_WIRE: u64 = 2 * crate::world::time::STEP;

impl State {
    pub(crate) fn resolve(&self, target: Target) -> usize {
        match target {
            Target::Active => self.instances.lease.owner,
            Target::Instance(number) => number,
        }
    }

    pub(crate) fn way_to_database(&mut self) -> Duration {
        let is_slow = self.instances.slow_until > self.now();
        self.decisions.delay(if is_slow { 300..2_000 } else { 1..12 })
    }

    pub(crate) fn loses_answer(&mut self) -> bool {
        self.instances.answers_lost_until > self.now() && self.decisions.percent(30)
    }

    pub(crate) fn is_cut_from_relays(&self, seat: Option<Seat>) -> bool {
        let machine = seat.and_then(|seat| self.instances.machines.get(seat.instance));
        machine.is_some_and(|machine| machine.relays_until > self.now())
    }

    pub(crate) fn is_cut_from_receiver(&self, seat: Option<Seat>) -> bool {
        let machine = seat.and_then(|seat| self.instances.machines.get(seat.instance));
        machine.is_some_and(|machine| machine.receiver_until > self.now())
    }

    pub(crate) fn call_begins(&mut self, seat: Option<Seat>, what: &str) {
        self.reaches_others(seat, 0, what);
    }

    /// A message of an instance's arrives at a relay.
    pub(crate) fn arrives(&mut self, seat: Option<Seat>, event: &Event) {
        if event.kind.as_u16() != REQUEST {
            self.reaches_others(seat, ON_THE_WIRE, "a message at a relay");
        } else if seat.is_some_and(|seat| self.is_late(seat, ON_THE_WIRE).is_some()) {
            // Whether it changes anything is known when it is read: look-ups are harmless.
            self.instances.late_requests.insert(event.id);
        }
    }

    /// The Lightning backend reads a request.
    pub(crate) fn wallet_is_asked(&mut self, request: EventId, method: &str) {
        let changes = matches!(method, "pay_invoice" | "make_invoice");
        if changes && self.instances.late_requests.contains(&request) {
            self.violation("nothing-after-the-lease", &format!("{method} was sent by a former owner"));
        }
    }

    fn reaches_others(&mut self, seat: Option<Seat>, on_the_way: u64, what: &str) {
        let Some(seat) = seat else { return };
        if let Some(ago) = self.is_late(seat, on_the_way) {
            let (instance, epoch) = (seat.instance, seat.epoch);
            let what = format!("{what} by instance {instance}, {ago} ms after the end of lease {epoch}");
            self.violation("nothing-after-the-lease", &what);
        }
    }

    /// How long ago the lease ended. When the database's clock leaps ahead, the owner finds out by its next renewal.
    fn is_late(&self, seat: Seat, on_the_way: u64) -> Option<u64> {
        let now = self.now();
        let ago = now.saturating_sub(self.instances.lease.over_since(seat.epoch, now)?);
        (ago >= on_the_way && !self.instances.lease.leapt_within(now, LEASE)).then_some(ago)
    }

    /// Whether the instance that is at an instant of interest is to be paused there.
    pub(in crate::world) fn is_to_be_paused(&mut self, what: &str) -> bool {
        match &mut self.instances.pause_in {
            Some((Some(kind), ..)) if *kind != what => false,
            Some((_, 0, lasts)) => {
                let lasts = *lasts;
                self.instances.pause_in = None;
                self.instances.pause_now = Some(lasts);
                self.log(&format!("! paused {what} for {} ms", lasts.as_millis()));
                true
            }
            Some((_, left, _)) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    pub(in crate::world) fn plan_instance_faults(&mut self, trouble: u64) {
        let count = self.plan.instances as u64;
        if count == 0 {
            return;
        }
        for fault in 0..self.decisions.number(5..12) {
            let at = self.decisions.number(4_000..trouble * 9 / 10);
            let any = Target::Instance(usize::try_from(self.decisions.number(0..count)).unwrap_or_default());
            let target = if self.decisions.percent(75) { Target::Active } else { any };
            let beyond = self.decisions.percent(80);
            let lasts = self.decisions.number(if beyond { 5_500..20_000 } else { 200..5_500 });
            let lasts = Duration::from_millis(lasts);
            let minutes = i64::try_from(self.decisions.number(1_000..300_000)).unwrap_or_default();
            let sign = if self.decisions.percent(60) { -1 } else { 1 };
            let instant = self.decisions.number(0..20);
            let places = [None, Some(ON_ITS_WAY), Some(ANSWERED), Some(READ)];
            let place = self.decisions.pick(&places, None);
            // The first is one that takes the lease from its owner.
            let kind = if fault == 0 { self.decisions.number(0..6) } else { self.decisions.number(0..15) };
            let fault = match kind {
                0 => InstanceFault::Kill(target),
                1 | 2 | 13 | 14 => {
                    InstanceFault::PauseAt(place, if place.is_some() { instant / 4 } else { instant }, lasts)
                }
                3 => InstanceFault::Pause(target, lasts),
                4 => InstanceFault::CutFromDatabase(target, lasts),
                5 => InstanceFault::Stop(target),
                6 => InstanceFault::CutFromRelays(target, lasts * 2),
                7 => InstanceFault::CutFromReceiver(target, lasts * 2),
                8 => InstanceFault::SetClock(any, sign * minutes),
                9 => InstanceFault::SetDatabaseClock(sign * minutes / 5),
                10 => InstanceFault::SlowDatabase(lasts),
                11 => InstanceFault::LoseAnswers(lasts),
                _ => {
                    self.later(Duration::from_millis(at), Action::KillAt(instant));
                    continue;
                }
            };
            self.later(Duration::from_millis(at), Action::Instance(fault));
            if matches!(kind, 3 | 4) && self.decisions.percent(50) {
                // As when a machine was suspended: its clock is corrected meanwhile.
                let meanwhile = Duration::from_millis(at + self.decisions.number(200..3_000));
                self.later(meanwhile, Action::Instance(InstanceFault::SetClock(target, -minutes)));
            }
        }
    }

    /// Something happens; what only the instances' keeper can do is given back.
    pub(in crate::world) fn instance_fault(&mut self, fault: InstanceFault) -> Option<Action> {
        let now = self.now();
        let until = |lasts: Duration| now + millis(lasts);
        match fault {
            InstanceFault::Kill(_) | InstanceFault::Pause(..) | InstanceFault::Stop(_) => {
                return Some(Action::Instance(fault));
            }
            InstanceFault::PauseAt(place, nth, lasts) => self.instances.pause_in = Some((place, nth, lasts)),
            InstanceFault::CutFromDatabase(target, lasts) => {
                let number = self.resolve(target);
                self.instances.machines.get_mut(number)?.database_until = until(lasts);
                self.bad(&format!("! instance {number} is cut off from the database"), lasts + LEASE);
            }
            InstanceFault::CutFromRelays(target, lasts) => {
                let number = self.resolve(target);
                self.instances.machines.get_mut(number)?.relays_until = until(lasts);
                for relay in &mut self.relays {
                    relay.cut_off(number);
                }
                self.bad(&format!("! instance {number} is cut off from the relays"), lasts);
            }
            InstanceFault::CutFromReceiver(target, lasts) => {
                let number = self.resolve(target);
                self.instances.machines.get_mut(number)?.receiver_until = until(lasts);
                self.bad(&format!("! instance {number} is cut off from the webhook"), lasts);
            }
            InstanceFault::SetClock(target, by) => {
                let number = self.resolve(target);
                // No more than minutes apart.
                let ahead = &self.instances.machines.get(number)?.ahead;
                let set = (ahead.load(Ordering::Relaxed) + by).clamp(-300_000, 300_000);
                ahead.store(set, Ordering::Relaxed);
                self.instances.clocks_were_set = true;
                self.log(&format!("! the clock of instance {number} is set by {by} ms and is {set} ms ahead"));
            }
            InstanceFault::SetDatabaseClock(by) => {
                self.instances.lease.set_clock(now, by);
                self.bad(&format!("! the database's clock is set by {by} ms"), LEASE);
            }
            InstanceFault::SlowDatabase(lasts) => {
                self.instances.slow_until = until(lasts);
                self.bad("! the database is slow", lasts);
            }
            InstanceFault::LoseAnswers(lasts) => {
                self.instances.answers_lost_until = until(lasts);
                self.bad("! answers of the database are lost", lasts);
            }
        }
        None
    }

    /// What was asked of this instance, and may be asked twice, is asked again of any of them.
    pub(crate) fn ask_elsewhere(&mut self, instance: usize) {
        let asked = |state: &Self, number: &u64| state.app.asked.get(number) == Some(&instance);
        let calls: Vec<_> = self.app.pending.values().filter(|call| asked(self, &call.number)).cloned().collect();
        for call in calls {
            if call.once {
                self.app.pending.remove(&call.number);
                let after = Duration::from_millis(self.decisions.number(10..3000));
                self.later(after, Action::Call(call));
            }
        }
    }
}
