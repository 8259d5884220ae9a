//! The machine's clock was set: what waits comes when it would have.
//!
//! Deadlines are times of the wall clock. Set back by three hours, it would freeze all work for three hours; the engine
//! notices within seconds ([`timers`](super::timers)), or at the next start, and moves what it set itself:
//!
//! | set back | moves |
//! | --- | --- |
//! | alarms in memory: messages sent again, invoices looked up | at once, by as much |
//! | deliveries to the webhook | in the store, then their alarms |
//! | operations: pauses, leases, expiries | each by a step of its own ([`SetBack`]), if its last step is of the clock that was ahead |
//! | due dates of subscriptions, expiries of invoices | never: they are dates, and not ours |
//!
//! Set forward, or after a suspend, everything that has become due happens, and messages are sent at the pace of a restart.
//! A clock that is far ahead may be wrong (a machine without a battery for its clock, before it has asked the network):
//! what has had its time by such a clock is not removed for a day.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::Engine;
use super::timers::Alarm;
use crate::UnixMillis;
use crate::operations::{Input, SetBack};
use crate::ports::StoreError;

/// A clock that is further ahead than this may be wrong.
const FAR_AHEAD: Duration = Duration::from_secs(24 * 3600);

/// For how long nothing is removed then, while the process runs.
const REMOVE_NOTHING_FOR: Duration = Duration::from_secs(24 * 3600);

/// A clock that shows less than was recorded before the start, by more than this, was set back.
const BEHIND: Duration = Duration::from_secs(2);

/// The first pause after which a store that failed is asked again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Engine {
    /// Compares the clock with the latest time that anything was recorded before this start.
    pub(super) async fn check_clock(self: &Arc<Self>, latest: UnixMillis) -> Result<(), StoreError> {
        let latest = self.store.latest_record().await?.unwrap_or_default().max(latest);
        let now = self.clock.now();
        if now.plus(BEHIND) < latest {
            let by = latest.since(now);
            warn!(seconds = by.as_secs(), "the machine's clock is behind what was recorded before: it was set back");
            self.renew(by);
        } else if latest > UnixMillis::default() && now > latest.plus(FAR_AHEAD) {
            self.remove_nothing();
            info!(
                hours = now.since(latest).as_secs() / 3600,
                "nothing was recorded for more than a day: in case the machine's clock is wrong, nothing is removed for a day"
            );
        }
        Ok(())
    }

    /// The machine's clock was set back while the service ran.
    pub(super) fn clock_set_back(self: &Arc<Self>, by: Duration) {
        warn!(seconds = by.as_secs(), "the machine's clock was set back; what waits comes when it would have");
        self.index.bring_resends_forward(by);
        self.timers.bring_forward(Alarm::Resend, by);
        self.bring_look_ups_forward(by);
        self.renew(by);
    }

    /// The machine's clock was set forward while the service ran, or the machine was suspended.
    pub(super) fn clock_set_forward(&self, by: Duration) {
        warn!(seconds = by.as_secs(), "the machine's clock was set forward, or the machine was suspended");
        self.repeat_anew();
        if by > FAR_AHEAD {
            self.remove_nothing();
            warn!("in case the clock is wrong now, nothing is removed for a day");
        }
    }

    fn remove_nothing(&self) {
        *self.removes_from.lock() = self.clock.monotonic().saturating_add(REMOVE_NOTHING_FOR);
    }

    /// Whether what has had its time may be removed now.
    pub(super) fn may_remove(&self) -> bool {
        self.clock.monotonic() >= *self.removes_from.lock()
    }

    /// Moves what is stored, in a task of its own: the store may be out of order just now.
    fn renew(self: &Arc<Self>, by: Duration) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let _one_at_a_time = engine.renewing.lock().await;
            let now = engine.clock.now();
            let mut pause = FIRST_PAUSE;
            while let Err(failure) = engine.store.clock_set_back(now, by).await {
                warn!(error = ?failure, "what a wrong clock recorded could not be put right; trying again");
                tokio::select! {
                    () = engine.clock.sleep(pause) => {}
                    () = engine.stop.cancelled() => return,
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            engine.timers.bring_forward(Alarm::Deliver, by);
            for id in engine.index.stepped_after(now) {
                let set_back = SetBack { by, created: id.created_at() > now };
                tokio::select! {
                    () = engine.workers.input(id, Input::ClockSetBack(set_back)) => {}
                    () = engine.stop.cancelled() => return,
                }
            }
        });
    }
}
