//! Timers: when operations are woken, messages repeated, invoices looked up and events delivered. They are in memory,
//! and rebuilt from the store at the start.
//!
//! Timers run on the monotonic clock, so setting the wall clock does not affect them. Only due dates of subscriptions
//! follow the wall clock ([`Due::Wall`]).
//!
//! A wall clock that jumps ahead by more than a day may be wrong, and an early charge cannot be undone. So timers that
//! follow it are held for ten minutes after such a jump, even one during downtime.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::warn;

use crate::ports::Clock;
use crate::{StreamId, UnixMillis};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TimerKind {
    Wake,
    Resend,
    LookUp,
    Deliver,
}

/// A time of the monotonic clock, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MonotonicMillis(pub(crate) u64);

impl MonotonicMillis {
    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The duration since `earlier`; zero if that is later.
    pub(crate) const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Due {
    Monotonic(MonotonicMillis),
    Wall(UnixMillis),
}

impl From<MonotonicMillis> for Due {
    fn from(at: MonotonicMillis) -> Self {
        Self::Monotonic(at)
    }
}

pub(crate) struct Timers {
    clock: Arc<dyn Clock>,
    queues: Mutex<Queues>,
    clock_jumps: Mutex<ClockJumpDetector>,
    earlier: Notify,
}

#[derive(Default)]
struct Queues {
    monotonic: BTreeSet<(MonotonicMillis, StreamId, TimerKind)>,
    wall: BTreeSet<(UnixMillis, StreamId, TimerKind)>,
}

struct ClockJumpDetector {
    monotonic: MonotonicMillis,
    wall: UnixMillis,
    held_until: MonotonicMillis,
}

/// A wall clock ahead of the expected time by more than this may be wrong.
const CLOCK_JUMP: Duration = Duration::from_secs(24 * 3600);

/// How long timers that follow the wall clock are then held: a networked machine corrects its clock sooner.
pub(crate) const HELD_FOR: Duration = Duration::from_secs(600);

/// How often the wall clock is read for a waiting timer: the timer's longest delay when it is set.
const READ_EVERY: Duration = Duration::from_secs(10);

/// The longest sleep.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Most timers taken at once, so that many due ones after a long downtime do not hold the lock.
const BATCH: usize = 1024;

impl Timers {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let clock_jumps =
            ClockJumpDetector { monotonic: monotonic(&*clock), wall: clock.now(), held_until: MonotonicMillis(0) };
        Self { clock, queues: Mutex::default(), clock_jumps: Mutex::new(clock_jumps), earlier: Notify::new() }
    }

    pub(crate) fn now(&self) -> MonotonicMillis {
        monotonic(&*self.clock)
    }

    pub(crate) fn after(&self, duration: Duration) -> MonotonicMillis {
        self.now().plus(duration)
    }

    pub(crate) fn set(&self, due: impl Into<Due>, id: StreamId, timer: TimerKind) {
        let mut queues = self.queues.lock();
        let first = match due.into() {
            Due::Monotonic(at) => insert(&mut queues.monotonic, (at, id, timer)),
            Due::Wall(at) => insert(&mut queues.wall, (at, id, timer)),
        };
        drop(queues);
        if first {
            self.earlier.notify_one();
        }
    }

    pub(crate) fn cancel(&self, due: impl Into<Due>, id: StreamId, timer: TimerKind) {
        let mut queues = self.queues.lock();
        match due.into() {
            Due::Monotonic(at) => queues.monotonic.remove(&(at, id, timer)),
            Due::Wall(at) => queues.wall.remove(&(at, id, timer)),
        };
    }

    /// Records a past reading of the wall clock. A clock far ahead of it has jumped, or the service was off.
    pub(crate) fn has_shown(&self, wall: UnixMillis) {
        let mut watch = self.clock_jumps.lock();
        (watch.monotonic, watch.wall) = (self.now(), wall);
    }

    /// When the first timer is due, from now.
    pub(crate) fn first_due(&self) -> Option<Duration> {
        let (now, wall) = (self.now(), self.clock.now());
        let queues = self.queues.lock();
        let monotonic = queues.monotonic.first().map(|(at, ..)| at.since(now));
        let by_wall = queues.wall.first().map(|(at, ..)| at.since(wall));
        drop(queues);
        let held_for = self.clock_jumps.lock().held_until.since(now);
        monotonic.into_iter().chain(by_wall.map(|due| due.max(held_for))).min()
    }

    pub(crate) fn are_held(&self) -> bool {
        self.read().1.is_none()
    }

    pub(crate) async fn next(&self) -> Vec<(StreamId, TimerKind)> {
        loop {
            let (now, wall) = self.read();
            let (due, wait) = {
                let mut queues = self.queues.lock();
                let mut due = Vec::new();
                take(&mut queues.monotonic, now, &mut due);
                if let Some(wall) = wall {
                    take(&mut queues.wall, wall, &mut due);
                }
                let first = queues.monotonic.first().map_or(DAY, |(at, ..)| at.since(now));
                let reads = queues.wall.first().map_or(DAY, |(at, ..)| match wall {
                    Some(wall) => at.since(wall).min(READ_EVERY),
                    None => READ_EVERY,
                });
                (due, first.min(reads))
            };
            if !due.is_empty() {
                return due;
            }
            tokio::select! {
                () = self.clock.sleep_until(Duration::from_millis(now.plus(wait).0)) => {}
                () = self.earlier.notified() => {}
            }
        }
    }

    /// The time of both clocks; `None` for the wall clock while it may be wrong.
    fn read(&self) -> (MonotonicMillis, Option<UnixMillis>) {
        let mut watch = self.clock_jumps.lock();
        let (now, wall) = (self.now(), self.clock.now());
        let expected = watch.wall.plus(now.since(watch.monotonic));
        (watch.monotonic, watch.wall) = (now, wall);
        if wall > expected.plus(CLOCK_JUMP) {
            watch.held_until = now.plus(HELD_FOR);
            warn!(
                days = wall.since(expected).as_secs() / 86_400,
                "the machine's clock is days ahead of what it showed before: the service was off or idle, or the clock is \
                 wrong. No subscription is charged for 10 minutes; if the clock is wrong, set it now"
            );
        }
        (now, (now >= watch.held_until).then_some(wall))
    }
}

/// The remaining time until `due_at`, set at `set_at`. Never longer than at that time, however far the wall clock, now
/// at `now`, was ahead.
pub(crate) fn left(due_at: UnixMillis, set_at: UnixMillis, now: UnixMillis) -> Duration {
    due_at.since(now).min(due_at.since(set_at))
}

fn monotonic(clock: &dyn Clock) -> MonotonicMillis {
    MonotonicMillis::default().plus(clock.monotonic())
}

fn insert<T: Copy + Ord>(queues: &mut BTreeSet<(T, StreamId, TimerKind)>, timer: (T, StreamId, TimerKind)) -> bool {
    let first = queues.first().is_none_or(|(at, ..)| timer.0 < *at);
    queues.insert(timer);
    first
}

fn take<T: Copy + Ord>(queues: &mut BTreeSet<(T, StreamId, TimerKind)>, now: T, due: &mut Vec<(StreamId, TimerKind)>) {
    while due.len() < BATCH
        && let Some((at, id, timer)) = queues.first().copied()
        && at <= now
    {
        queues.pop_first();
        due.push((id, timer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixtures::{NOW, stream as id};
    use crate::testing::ManualClock;

    const MINUTE: Duration = Duration::from_secs(60);
    const HOURS: Duration = Duration::from_secs(3 * 3600);
    const MONTH: Duration = Duration::from_secs(31 * 24 * 3600);

    fn timers() -> (Timers, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(NOW));
        (Timers::new(Arc::clone(&clock) as Arc<dyn Clock>), clock)
    }

    async fn due(timers: &Timers) -> Vec<(StreamId, TimerKind)> {
        tokio::select! {
            biased;
            due = timers.next() => due,
            () = tokio::task::yield_now() => Vec::new(),
        }
    }

    #[tokio::test]
    async fn wall_clock_that_is_set_makes_no_alarm_early_or_late() {
        let (timers, clock) = timers();
        timers.set(timers.after(MINUTE), id(1), TimerKind::Wake);
        timers.set(timers.after(2 * MINUTE), id(2), TimerKind::Resend);
        clock.turn_forward(HOURS);
        assert_eq!(due(&timers).await, []);
        clock.turn(MINUTE);
        assert_eq!(due(&timers).await, [(id(1), TimerKind::Wake)]);
        clock.turn_back(2 * HOURS);
        clock.turn(MINUTE);
        assert_eq!(due(&timers).await, [(id(2), TimerKind::Resend)]);
    }

    #[tokio::test]
    async fn date_of_the_calendar_is_due_when_the_wall_clock_shows_it() {
        let (timers, clock) = timers();
        for (n, days) in [(1, 0), (2, 1)] {
            timers.set(Due::Wall(NOW.plus(HOURS + days * Duration::from_secs(24 * 3600))), id(n), TimerKind::Wake);
        }
        clock.turn_forward(HOURS);
        assert_eq!(due(&timers).await, [(id(1), TimerKind::Wake)]);
        clock.turn_back(HOURS);
        clock.turn(HOURS);
        assert_eq!(due(&timers).await, []);
        timers.cancel(Due::Wall(NOW.plus(HOURS + Duration::from_secs(24 * 3600))), id(2), TimerKind::Wake);
        clock.turn(10 * HOURS);
        assert_eq!(due(&timers).await, []);
    }

    #[tokio::test]
    async fn waiting_for_a_date_notices_that_the_wall_clock_was_set() {
        let (timers, clock) = timers();
        timers.set(Due::Wall(NOW.plus(HOURS)), id(1), TimerKind::Wake);
        let set = async {
            clock.turn_forward(HOURS);
            tokio::task::yield_now().await;
            clock.turn(READ_EVERY);
            tokio::task::yield_now().await;
        };
        tokio::select! {
            biased;
            due = timers.next() => assert_eq!(due, [(id(1), TimerKind::Wake)]),
            () = set => panic!("not noticed"),
        }
    }

    #[tokio::test]
    async fn dates_are_held_for_ten_minutes_after_a_leap_of_more_than_a_day() {
        let (timers, clock) = timers();
        timers.set(Due::Wall(NOW.plus(MONTH)), id(1), TimerKind::Wake);
        timers.set(timers.after(MINUTE), id(2), TimerKind::Wake);
        clock.turn_forward(MONTH);
        assert_eq!(due(&timers).await, []);
        assert!(timers.are_held());
        clock.turn(MINUTE);
        assert_eq!(due(&timers).await, [(id(2), TimerKind::Wake)], "others do not wait");
        clock.turn(9 * MINUTE - Duration::from_millis(1));
        assert_eq!(due(&timers).await, []);
        clock.turn(Duration::from_millis(1));
        assert_eq!(due(&timers).await, [(id(1), TimerKind::Wake)]);
        timers.set(Due::Wall(NOW.plus(3 * MONTH)), id(1), TimerKind::Wake);
        clock.turn(2 * MONTH);
        assert_eq!(due(&timers).await, [(id(1), TimerKind::Wake)]);
    }

    #[tokio::test]
    async fn clock_that_is_corrected_within_ten_minutes_makes_no_date_due() {
        let (timers, clock) = timers();
        timers.set(Due::Wall(NOW.plus(MONTH)), id(1), TimerKind::Wake);
        clock.turn_forward(2 * MONTH);
        assert_eq!(due(&timers).await, []);
        clock.turn(5 * MINUTE);
        clock.turn_back(2 * MONTH);
        for _ in 0..100 {
            clock.turn(MINUTE);
            assert_eq!(due(&timers).await, []);
        }
        assert!(!timers.are_held());
    }

    #[tokio::test]
    async fn leap_while_the_service_was_off_holds_dates_too() {
        let (timers, clock) = timers();
        timers.has_shown(NOW.minus(MONTH));
        timers.set(Due::Wall(NOW.minus(HOURS)), id(1), TimerKind::Wake);
        assert_eq!(due(&timers).await, []);
        clock.turn(10 * MINUTE);
        assert_eq!(due(&timers).await, [(id(1), TimerKind::Wake)]);
        timers.has_shown(NOW.minus(HOURS));
        assert!(!timers.are_held());
    }
}
