//! Changes of the machine's clock: waiting operations still run when they would have run.
//!
//! Deadlines are times of the wall clock. If it is set back by three hours, all work would stop for three hours. The engine
//! notices within seconds ([`timers`](super::timers)), or at the next start, and moves the times that it has set itself:
//!
//! | after the clock was set back | moved |
//! | --- | --- |
//! | alarms in memory: repetitions of messages, look-ups of invoices | at once, by the same amount |
//! | deliveries to the webhook | in the store, then their alarms |
//! | operations: pauses, leases, expiries | each by a step of its own ([`SetBack`]), if its last step is later than now |
//! | due dates of subscriptions, expiries of invoices | never: these are dates that others rely on |
//!
//! After the clock was set forward, or the machine was suspended, everything that has become due happens, and messages are
//! sent at the rate of a restart.
//!
//! A clock that is more than a day ahead of what was recorded, at the start or by a jump, may be wrong (a bad battery,
//! a machine that has not asked the network for the time yet). The service trusts nobody whom it could ask, and it may
//! really have been off for a month. So it waits for the clock to be corrected, for a time that costs nothing after
//! such a pause:
//!
//! | with a clock that is far ahead | waits |
//! | --- | --- |
//! | existing operations: time-outs, charges of subscriptions, repetitions of messages, payments that a restart resumes | 10 minutes, or until the clock is set back |
//! | removal of old data | a day |
//! | new operations, messages from wallets, settlements, webhooks | never |
//!
//! A clock that is wrong for longer is believed.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::warn;

use super::index::Index;
use super::inputs::Inputs;
use super::invoice_watcher::InvoiceWatcher;
use super::outbox::Outbox;
use super::tasks::Tasks;
use super::timers::{Alarm, Timers};
use crate::UnixMillis;
use crate::operations::{Input, SetBack};
use crate::ports::{Clock, Store, StoreError};

/// A clock that is further ahead than this may be wrong.
const FAR_AHEAD: Duration = Duration::from_secs(24 * 3600);

/// How long nothing is removed then, while the process runs.
const REMOVE_NOTHING_FOR: Duration = Duration::from_secs(24 * 3600);

/// How long existing operations are not woken then: a machine with a network knows the time within a minute or two.
const HOLD_FOR: Duration = Duration::from_secs(600);

/// A clock that is behind the latest record before the start by more than this was set back.
const BEHIND: Duration = Duration::from_secs(2);

/// The first pause before a failed store is retried; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What reacts to a clock that was set.
pub(crate) struct ClockChangeParts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) index: Arc<Index>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) inputs: Inputs,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: Tasks,
}

/// Reacts to a clock that was set.
pub(crate) struct ClockChanges {
    parts: ClockChangeParts,
    /// From when on old data may be removed, on the monotonic clock.
    removes_from: Mutex<Duration>,
    /// Held while stored times are moved.
    moving: tokio::sync::Mutex<()>,
}

impl ClockChanges {
    pub(crate) fn new(parts: ClockChangeParts) -> Self {
        Self { parts, removes_from: Mutex::default(), moving: tokio::sync::Mutex::default() }
    }

    /// Compares the clock with the latest time that was recorded before this start; `latest` is that of an open operation.
    pub(crate) async fn check_at_start(self: &Arc<Self>, latest: UnixMillis) -> Result<(), StoreError> {
        let latest = self.parts.store.latest_record().await?.unwrap_or_default().max(latest);
        let now = self.parts.clock.now();
        if now.plus(BEHIND) < latest {
            let by = latest.since(now);
            warn!(seconds = by.as_secs(), "the machine's clock is behind what was recorded before: it was set back");
            self.move_stored_times(by);
        } else if latest > UnixMillis::default() && now > latest.plus(FAR_AHEAD) {
            self.remove_nothing();
            self.hold_timers(latest);
            warn!(
                days = now.since(latest).as_secs() / 86_400,
                "the machine's clock is days past the last record: the service was off or idle, or the clock is wrong. Open \
                 requests and charges wait for 10 minutes and nothing is removed for a day; if the clock is wrong, set it now"
            );
        }
        Ok(())
    }

    /// Whether alarms are held back.
    pub(crate) fn is_holding(&self) -> bool {
        self.parts.timers.held_after().is_some()
    }

    /// Whether a clock that was far ahead has been corrected.
    pub(crate) fn is_put_right(&self) -> bool {
        self.parts.timers.held_after().is_some_and(|after| self.parts.clock.now() <= after.plus(FAR_AHEAD))
    }

    /// Resumes what was held back.
    pub(crate) fn release(&self) {
        self.parts.timers.release();
        self.parts.outbox.resend_all();
    }

    fn hold_timers(&self, after: UnixMillis) {
        self.parts.timers.hold(after, self.parts.clock.monotonic().saturating_add(HOLD_FOR));
    }

    /// The machine's clock was set back while the service runs.
    pub(crate) fn set_back(self: &Arc<Self>, by: Duration) {
        warn!(seconds = by.as_secs(), "the machine's clock was set back; timers are moved by as much");
        self.parts.outbox.bring_forward(by);
        self.parts.watcher.bring_forward(by);
        self.move_stored_times(by);
    }

    /// The machine's clock was set forward while the service runs, or the machine was suspended.
    pub(crate) fn set_forward(&self, by: Duration) {
        warn!(seconds = by.as_secs(), "the machine's clock was set forward, or the machine was suspended");
        if by > FAR_AHEAD {
            self.remove_nothing();
            self.hold_timers(self.parts.clock.now().minus(by));
            warn!(
                "in case the clock is wrong now, open requests and charges wait for 10 minutes and nothing is removed for a day"
            );
        } else {
            self.parts.outbox.resend_all();
        }
    }

    fn remove_nothing(&self) {
        *self.removes_from.lock() = self.parts.clock.monotonic().saturating_add(REMOVE_NOTHING_FOR);
    }

    /// Whether old data may be removed now.
    pub(crate) fn may_remove(&self) -> bool {
        self.parts.clock.monotonic() >= *self.removes_from.lock()
    }

    /// Moves stored times, in a task of its own, because the store may fail just now.
    fn move_stored_times(self: &Arc<Self>, by: Duration) {
        let this = Arc::clone(self);
        self.parts.tasks.spawn(async move {
            let ClockChangeParts { store, index, timers, inputs, clock, tasks, .. } = &this.parts;
            let _one_at_a_time = this.moving.lock().await;
            let now = clock.now();
            let mut pause = FIRST_PAUSE;
            while let Err(failure) = store.clock_set_back(now, by).await {
                warn!(error = ?failure, "stored times could not be moved after the clock was set back; trying again");
                if tasks.unless_stopped(clock.sleep(pause)).await.is_none() {
                    return;
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            timers.bring_forward(Alarm::Deliver, by);
            for id in index.stepped_after(now) {
                let set_back = SetBack { by, created: id.created_at() > now };
                if tasks.unless_stopped(inputs.put(id, Input::ClockSetBack(set_back))).await.is_none() {
                    return;
                }
            }
        });
    }
}
