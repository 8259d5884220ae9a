//! Timers: when an operation wants to be woken, and when its messages are sent again.
//!
//! They live in memory, ordered by time; the store holds what they are rebuilt from. One task sleeps until the first.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::ports::Clock;
use crate::{StreamId, UnixMillis};

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Alarm {
    /// The operation gets `Input::Timer`.
    Wake,
    /// The operation's outbox is sent again.
    Resend,
    /// The operation's invoice is looked up.
    LookUp,
    /// Something of the stream is to be delivered to the app's webhook.
    Deliver,
}

/// What the timers are waited for.
pub(super) enum Due {
    /// These alarms are due.
    Alarms(Vec<(StreamId, Alarm)>),
    /// The machine's clock was set back: what was to be soon is far away now.
    SetBack,
}

/// Alarms by time.
#[derive(Default)]
pub(super) struct Timers {
    due: Mutex<BTreeSet<(UnixMillis, StreamId, Alarm)>>,
    earlier: Notify,
    /// What the clock showed when it was looked at last.
    seen: AtomicU64,
}

/// Clocks are put right by less than this all the time, and nobody waits much longer for it.
const SET_BACK: Duration = Duration::from_secs(60);

/// Most alarms taken out at once, so that after a long downtime a crowd of them does not hold the lock.
const BATCH: usize = 1024;

impl Timers {
    pub(super) fn set(&self, at: UnixMillis, id: StreamId, alarm: Alarm) {
        let mut due = self.due.lock();
        let first = due.first().is_none_or(|(first, ..)| at < *first);
        due.insert((at, id, alarm));
        drop(due);
        if first {
            self.earlier.notify_one();
        }
    }

    pub(super) fn cancel(&self, at: UnixMillis, id: StreamId, alarm: Alarm) {
        self.due.lock().remove(&(at, id, alarm));
    }

    /// Takes out all alarms of a kind; says whose they were, the earliest first.
    pub(super) fn take(&self, kind: Alarm) -> Vec<StreamId> {
        let mut taken = Vec::new();
        self.due.lock().retain(|(_, id, alarm)| {
            if *alarm == kind {
                taken.push(*id);
            }
            *alarm != kind
        });
        taken
    }

    /// Waits until alarms are due, and takes them out.
    pub(super) async fn next(&self, clock: &dyn Clock) -> Due {
        loop {
            let now = clock.now();
            let before = UnixMillis(self.seen.swap(now.0, Ordering::Relaxed));
            if now.plus(SET_BACK) < before {
                return Due::SetBack;
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
            match first {
                Some(at) => tokio::select! {
                    () = clock.sleep_until(at) => {}
                    () = self.earlier.notified() => {}
                },
                None => self.earlier.notified().await,
            }
        }
    }
}
