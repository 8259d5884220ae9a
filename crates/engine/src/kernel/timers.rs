//! Timers: when operations are woken, messages sent again, invoices looked up and events delivered.
//!
//! They are in memory, ordered by time, and are rebuilt from the store at the start. One task sleeps until the first
//! ([`alarms`](super::alarms)).

use std::collections::BTreeSet;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::ports::Clock;
use crate::{StreamId, UnixMillis};

/// The alarms that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Alarm {
    /// The operation gets `Input::Timer`.
    Wake,
    /// The operation's outbox is sent again.
    Resend,
    /// The operation's invoice is looked up.
    LookUp,
    /// Something of the stream is to be delivered to the app's webhook.
    Deliver,
}

/// Why [`Timers::next`] returns.
#[derive(Debug)]
pub(crate) enum Due {
    /// These alarms are due.
    Alarms(Vec<(StreamId, Alarm)>),
    /// The machine's clock was set back by this much: alarms that were due soon are far away now.
    SetBack(Duration),
    /// The machine's clock was set forward by this much, or the machine was suspended: alarms that were due later are
    /// due now.
    SetForward(Duration),
    /// Alarms have been [held](Timers::hold) for long enough.
    HeldLongEnough,
}

/// Alarms by time.
#[derive(Default)]
pub(crate) struct Timers {
    due: Mutex<BTreeSet<(UnixMillis, StreamId, Alarm)>>,
    earlier: Notify,
    /// What the clocks showed when they were last compared.
    seen: Mutex<Option<(UnixMillis, Duration)>>,
    held: Mutex<Option<Held>>,
}

/// Alarms that are held back: by a clock that may be wrong they are due.
struct Held {
    /// The last time that is believed.
    after: UnixMillis,
    /// Until when, on the monotonic clock.
    until: Duration,
    alarms: BTreeSet<(UnixMillis, StreamId, Alarm)>,
}

/// How often the wall clock is compared with the monotonic one: when it is set, alarms are late by this at most.
const COMPARED_EVERY: Duration = Duration::from_secs(2);

/// A difference that is treated as setting the clock. A clock that is corrected gradually (NTP) moves a millisecond
/// between two comparisons.
const CLOCK_SET: Duration = Duration::from_secs(2);

/// Most alarms taken out at once, so that many that are due after a long downtime do not keep the lock.
const BATCH: usize = 1024;

impl Timers {
    pub(crate) fn set(&self, at: UnixMillis, id: StreamId, alarm: Alarm) {
        let mut due = self.due.lock();
        let first = due.first().is_none_or(|(first, ..)| at < *first);
        due.insert((at, id, alarm));
        drop(due);
        if first {
            self.earlier.notify_one();
        }
    }

    pub(crate) fn cancel(&self, at: UnixMillis, id: StreamId, alarm: Alarm) {
        if !self.due.lock().remove(&(at, id, alarm))
            && let Some(held) = &mut *self.held.lock()
        {
            held.alarms.remove(&(at, id, alarm));
        }
    }

    /// Holds back what wakes operations `after` this time and what sends their messages again, until the monotonic clock
    /// shows `until`. Alarms that are set from now on are not held back.
    pub(crate) fn hold(&self, after: UnixMillis, until: Duration) {
        let mut due = self.due.lock();
        let (mut alarms, others): (BTreeSet<_>, _) = std::mem::take(&mut *due)
            .into_iter()
            .partition(|(at, _, alarm)| *alarm == Alarm::Resend || (*alarm == Alarm::Wake && *at > after));
        *due = others;
        let mut held = self.held.lock();
        if let Some(before) = held.take() {
            alarms.extend(before.alarms);
        }
        *held = Some(Held { after, until, alarms });
    }

    /// The last time that is believed while alarms are held back.
    pub(crate) fn held_after(&self) -> Option<UnixMillis> {
        self.held.lock().as_ref().map(|held| held.after)
    }

    /// Alarms that were held back become due at their original time.
    pub(crate) fn release(&self) {
        let held = self.held.lock().take();
        self.due.lock().extend(held.into_iter().flat_map(|held| held.alarms));
        self.earlier.notify_one();
    }

    /// Removes all alarms of a kind; returns their operations, the earliest first.
    pub(crate) fn take(&self, kind: Alarm) -> Vec<StreamId> {
        let mut taken = Vec::new();
        self.due.lock().retain(|(_, id, alarm)| {
            if *alarm == kind {
                taken.push(*id);
            }
            *alarm != kind
        });
        taken
    }

    /// The clock was set back by `by`: moves all alarms of a kind to when they would have come.
    pub(crate) fn bring_forward(&self, kind: Alarm, by: Duration) {
        let mut due = self.due.lock();
        let (moved, others): (BTreeSet<_>, _) = std::mem::take(&mut *due).into_iter().partition(|due| due.2 == kind);
        *due = others;
        due.extend(moved.into_iter().map(|(at, id, alarm)| (at.minus(by), id, alarm)));
        drop(due);
        self.earlier.notify_one();
    }

    /// Waits until alarms are due and takes them out, or until the machine's clock is set.
    pub(crate) async fn next(&self, clock: &dyn Clock) -> Due {
        loop {
            let now = match self.compare(clock) {
                Ok(now) => now,
                Err(set) => return set,
            };
            if self.held.lock().as_ref().is_some_and(|held| clock.monotonic() >= held.until) {
                return Due::HeldLongEnough;
            }
            let first = {
                let mut due = self.due.lock();
                let mut taken = Vec::new();
                while taken.len() < BATCH
                    && let Some(alarm) = due.first().copied()
                    && alarm.0 <= now
                {
                    due.pop_first();
                    taken.push((alarm.1, alarm.2));
                }
                if !taken.is_empty() {
                    return Due::Alarms(taken);
                }
                due.first().map(|(at, ..)| *at)
            };
            let left = first.map_or(COMPARED_EVERY, |at| at.since(now).min(COMPARED_EVERY));
            tokio::select! {
                () = clock.sleep(left) => {}
                () = self.earlier.notified() => {}
            }
        }
    }

    /// The time, unless the wall clock was set since it was last read.
    fn compare(&self, clock: &dyn Clock) -> Result<UnixMillis, Due> {
        let (now, monotonic) = read(clock);
        let Some((before, then)) = self.seen.lock().replace((now, monotonic)) else { return Ok(now) };
        let expected = before.plus(monotonic.saturating_sub(then));
        if now.plus(CLOCK_SET) <= expected {
            return Err(Due::SetBack(expected.since(now)));
        }
        if now >= expected.plus(CLOCK_SET) {
            return Err(Due::SetForward(now.since(expected)));
        }
        Ok(now)
    }
}

/// Both clocks at the same instant. A thread that is suspended between two readings must not look like a clock that was set.
fn read(clock: &dyn Clock) -> (UnixMillis, Duration) {
    let mut before = clock.monotonic();
    for _ in 0..10 {
        let now = clock.now();
        let after = clock.monotonic();
        if after.saturating_sub(before) < CLOCK_SET / 10 {
            return (now, after);
        }
        before = after;
    }
    (clock.now(), clock.monotonic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ManualClock;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
    const HOURS: Duration = Duration::from_secs(3 * 3600);

    #[tokio::test]
    async fn clock_change_is_detected_without_a_due_alarm() {
        let (timers, clock) = (Timers::default(), ManualClock::at(NOW));
        let next = async {
            clock.turn(COMPARED_EVERY);
            tokio::task::yield_now().await;
        };
        tokio::select! {
            biased;
            due = timers.next(&clock) => panic!("{due:?}"),
            () = next => {}
        }
        clock.turn_back(HOURS);
        assert!(matches!(timers.next(&clock).await, Due::SetBack(by) if by == HOURS));
        clock.turn_forward(HOURS);
        assert!(matches!(timers.next(&clock).await, Due::SetForward(by) if by == HOURS));
        // Time that passes is no setting of the clock, however much.
        clock.turn(10 * HOURS);
        let alarm = (StreamId::SUBSCRIPTIONS, Alarm::Wake);
        timers.set(NOW, alarm.0, alarm.1);
        assert!(matches!(timers.next(&clock).await, Due::Alarms(due) if due == [alarm]));
    }

    #[tokio::test]
    async fn hold_delays_existing_alarms_but_not_new_ones() {
        let (timers, clock) = (Timers::default(), ManualClock::at(NOW.plus(100 * HOURS)));
        let [before, late, cancelled, new] = [1, 2, 3, 4].map(|byte| StreamId::from_bytes([byte; 16]));
        timers.set(NOW, before, Alarm::Wake);
        timers.set(NOW.plus(HOURS), late, Alarm::Wake);
        timers.set(NOW.plus(HOURS), late, Alarm::LookUp);
        timers.set(NOW.plus(HOURS), cancelled, Alarm::Wake);
        timers.hold(NOW, clock.monotonic() + HOURS);
        timers.cancel(NOW.plus(HOURS), cancelled, Alarm::Wake);
        timers.set(NOW.plus(2 * HOURS), new, Alarm::Wake);
        let due = timers.next(&clock).await;
        let expected = [(before, Alarm::Wake), (late, Alarm::LookUp), (new, Alarm::Wake)];
        assert!(matches!(&due, Due::Alarms(alarms) if *alarms == expected), "{due:?}");
        clock.turn(HOURS);
        assert!(matches!(timers.next(&clock).await, Due::HeldLongEnough));
        assert_eq!(timers.held_after(), Some(NOW));
        timers.release();
        assert!(matches!(timers.next(&clock).await, Due::Alarms(alarms) if alarms == [(late, Alarm::Wake)]));
        assert_eq!(timers.held_after(), None);
    }

    #[tokio::test]
    async fn alarms_moved_with_the_clock_fire_on_time() {
        let (timers, clock) = (Timers::default(), ManualClock::at(NOW));
        let id = StreamId::SUBSCRIPTIONS;
        timers.set(NOW.plus(Duration::from_secs(60)), id, Alarm::Resend);
        timers.set(NOW.plus(Duration::from_secs(60)), id, Alarm::Wake);
        assert!(timers.compare(&clock).is_ok());
        clock.turn_back(HOURS);
        let Due::SetBack(by) = timers.next(&clock).await else { panic!("not noticed") };
        timers.bring_forward(Alarm::Resend, by);
        clock.turn(Duration::from_secs(60));
        assert!(matches!(timers.next(&clock).await, Due::Alarms(due) if due == [(id, Alarm::Resend)]));
        clock.turn(HOURS);
        assert!(matches!(timers.next(&clock).await, Due::Alarms(due) if due == [(id, Alarm::Wake)]));
    }
}
