//! The invoice watcher: looks up the service's open invoices, in case the backend does not report a settlement.
//!
//! Each watched invoice has a timer, whose interval doubles and is stretched if there are many invoices. Due look-ups
//! take turns, at most `wallet.lookups_per_second` in total, so 10,000 open invoices cost as much as 100. A look-up
//! that finds nothing new costs no write. Invoices that a user is about to pay have most of the turns. An urgent
//! look-up does not wait for a turn.

mod lookup_turns;
mod schedule;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tracing::{debug, error, warn};
use usher_protocol::message::PaymentHash;

use self::lookup_turns::{LookupTurns, Turn};
use self::schedule::{FIRST_LOOKUPS, Schedule, Watch};
use super::lightning_metrics::{LightningCallKind, LightningMetrics};
use super::timers::TimerKind;
use crate::StreamId;
use crate::kernel::core::Core;
use crate::machine::Input;
use crate::ports::{InvoiceStatus, Lightning};

const CONCURRENT_LOOKUPS: usize = 32;

pub(crate) struct InvoiceWatcher {
    core: Core,
    backend: Option<Arc<dyn Lightning>>,
    calls: Arc<LightningMetrics>,
    schedule: Schedule,
    watched: Mutex<Watched>,
    permits: Semaphore,
    more: Notify,
}

/// The result of a look-up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// Its operation may not accept it: the invoice then stays watched.
    Settlement,
    Failure,
}

#[derive(Default)]
struct Watched {
    by_stream: HashMap<StreamId, Watch>,
    over: usize,
    turns: LookupTurns,
}

impl Watched {
    fn put(&mut self, id: StreamId, watch: Watch) {
        self.remove(id);
        self.over += usize::from(watch.over);
        self.by_stream.insert(id, watch);
    }

    fn remove(&mut self, id: StreamId) -> Option<Watch> {
        let watch = self.by_stream.remove(&id)?;
        self.over -= usize::from(watch.over);
        Some(watch)
    }

    fn count(&self, over: bool) -> usize {
        if over { self.over } else { self.by_stream.len() - self.over }
    }
}

impl InvoiceWatcher {
    pub(crate) fn new(
        core: Core,
        backend: Option<Arc<dyn Lightning>>,
        calls: Arc<LightningMetrics>,
        lookups_per_second: u64,
    ) -> Self {
        Self {
            core,
            backend,
            calls,
            schedule: Schedule::new(lookups_per_second),
            watched: Mutex::default(),
            permits: Semaphore::new(CONCURRENT_LOOKUPS),
            more: Notify::new(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.watched.lock().by_stream.len()
    }

    pub(crate) fn open_count(&self) -> usize {
        self.watched.lock().count(false)
    }

    /// The number of invoices that the backend reports as paid with an invalid proof or amount.
    pub(crate) fn disputed_count(&self) -> usize {
        self.watched.lock().by_stream.values().filter(|watch| watch.disputes > 1).count()
    }

    /// Watches the operation's invoice. `awaited`: a user is about to pay it.
    pub(crate) fn watch(&self, id: StreamId, hash: PaymentHash, awaited: bool) {
        let now = self.core.timers.now();
        let over = self.core.index.get(id).is_some_and(|stream| stream.done);
        let mut watched = self.watched.lock();
        let (before, disputes) = match watched.by_stream.get(&id) {
            Some(watch) if watch.hash == hash && watch.over == over => return,
            Some(watch) => (watch.at, watch.disputes),
            None => (None, 0),
        };
        let mut watch = Watch { disputes, ..Watch::new(hash, now, over, awaited) };
        let at = now.plus(self.interval(&watch, watched.count(over)));
        watch.at = Some(at);
        watched.put(id, watch);
        drop(watched);
        if let Some(before) = before {
            self.core.timers.cancel(before, id, TimerKind::LookUp);
        }
        self.core.timers.set(at, id, TimerKind::LookUp);
        if self.core.index.get(id).is_none() {
            self.unwatch(id); // finished just now
        }
    }

    /// Watches an invoice after a restart: it is looked up at its turn, because notifications were missed.
    pub(crate) fn watch_again(&self, id: StreamId, hash: PaymentHash, over: bool) {
        let now = self.core.timers.now();
        // Not treated as new afterwards: a flood of them would take the turns of invoices not looked up yet.
        let watch = Watch { with_all: true, times: FIRST_LOOKUPS, ..Watch::new(hash, now, over, true) };
        self.watched.lock().put(id, watch);
        self.core.timers.set(now, id, TimerKind::LookUp);
    }

    pub(crate) fn unwatch(&self, id: StreamId) {
        let removed = self.watched.lock().remove(id);
        if let Some(at) = removed.and_then(|watch| watch.at) {
            self.core.timers.cancel(at, id, TimerKind::LookUp);
        }
    }

    pub(crate) fn look_up_soon(&self, id: StreamId) {
        let now = self.core.timers.now();
        let mut watched = self.watched.lock();
        let Some(watch) = watched.by_stream.get_mut(&id) else { return };
        if watch.at.is_none() && !watch.waits {
            watch.again = true;
            return;
        }
        watch.urgent = true;
        watch.waits = false;
        let before = watch.at.replace(now);
        drop(watched);
        if let Some(before) = before {
            self.core.timers.cancel(before, id, TimerKind::LookUp);
        }
        self.core.timers.set(now, id, TimerKind::LookUp);
    }

    /// Looks up all invoices, one after the other, because the backend was down and reported nothing.
    pub(crate) fn look_up_all(&self) {
        let now = self.core.timers.now();
        let mut watched = self.watched.lock();
        for (id, watch) in &mut watched.by_stream {
            if let Some(before) = watch.at
                && before > now
            {
                watch.at = Some(now);
                (watch.with_all, watch.times) = (true, watch.times.max(FIRST_LOOKUPS));
                self.core.timers.cancel(before, *id, TimerKind::LookUp);
                self.core.timers.set(now, *id, TimerKind::LookUp);
            }
        }
    }

    pub(crate) fn due(self: &Arc<Self>, id: StreamId) {
        let now = self.core.timers.now();
        let mut watched = self.watched.lock();
        let Watched { by_stream, turns, .. } = &mut *watched;
        let due = |watch: &&mut Watch| watch.at.is_some_and(|at| at <= now);
        let Some(watch) = by_stream.get_mut(&id).filter(due) else { return };
        watch.at = None;
        if watch.urgent {
            drop(watched);
            return self.look_up(id);
        }
        watch.waits = true;
        turns.put(watch.class(), id);
        drop(watched);
        self.more.notify_one();
    }

    pub(crate) async fn run(self: Arc<Self>) {
        let gap = self.schedule.gap();
        loop {
            let turn = {
                let mut watched = self.watched.lock();
                let Watched { by_stream, turns, .. } = &mut *watched;
                let wanted = |id| by_stream.get(&id).is_some_and(|watch| watch.waits);
                let turn = turns.take(self.core.clock.monotonic(), gap, wanted);
                if let Turn::Of(id) = turn
                    && let Some(watch) = by_stream.get_mut(&id)
                {
                    watch.waits = false;
                }
                turn
            };
            let next = async {
                match turn {
                    Turn::Of(id) => self.look_up(id),
                    Turn::Wait(wait) => self.core.clock.sleep(wait).await,
                    Turn::Nobody => self.more.notified().await,
                }
            };
            if self.core.tasks.unless_stopped(next).await.is_none() {
                return;
            }
        }
    }

    fn look_up(self: &Arc<Self>, id: StreamId) {
        let Some(backend) = self.backend.clone() else { return };
        let found = self.watched.lock().by_stream.get(&id).map(|watch| (watch.hash, watch.over));
        let Some((hash, over)) = found else { return };
        let watcher = Arc::clone(self);
        self.core.tasks.spawn(async move {
            let tasks = &watcher.core.tasks;
            let Some(_permit) = tasks.unless_stopped(watcher.permits.acquire()).await else { return };
            // It may have been paid and reported while this waited for its permit.
            if !watcher.is_watched(id, hash) {
                return watcher.looked_up(id, Found::Nothing);
            }
            // A separate task, so that the invoice is looked up again even if the adapter panics.
            let mut look_up = JoinSet::new();
            look_up.spawn(async move { backend.look_up_invoice(hash).await });
            let Some(status) = tasks.unless_stopped(look_up.join_next()).await else { return };
            let Some(Ok(status)) = status else {
                error!(stream_id = %id, "a look-up of an invoice panicked");
                return watcher.looked_up(id, Found::Failure);
            };
            watcher.calls.count(LightningCallKind::LookUpInvoice, &status);
            let found = match &status {
                Ok(InvoiceStatus::Settled(_) | InvoiceStatus::Disputed) => Found::Settlement,
                Ok(InvoiceStatus::Open | InvoiceStatus::Dead | InvoiceStatus::Unknown) => Found::Nothing,
                Err(_) => Found::Failure,
            };
            match status {
                // An ended operation may wait for a final status.
                Ok(status) if over || found == Found::Settlement => {
                    watcher.core.inputs.put(id, Input::InvoiceStatus(Ok(status))).await;
                }
                Ok(_) => {}
                Err(failure) => debug!(stream_id = %id, %failure, "an invoice could not be looked up"),
            }
            watcher.looked_up(id, found);
        });
    }

    fn is_watched(&self, id: StreamId, hash: PaymentHash) -> bool {
        self.watched.lock().by_stream.get(&id).is_some_and(|watch| watch.hash == hash)
    }

    fn looked_up(&self, id: StreamId, found: Found) {
        let now = self.core.timers.now();
        let mut watched = self.watched.lock();
        let (open, over) = (watched.count(false), watched.count(true));
        let is_running = |watch: &&mut Watch| watch.at.is_none() && !watch.waits;
        let Some(watch) = watched.by_stream.get_mut(&id).filter(is_running) else { return };
        let among = if watch.over { over } else { open };
        watch.urgent = std::mem::take(&mut watch.again);
        watch.with_all = false;
        watch.disputes = match found {
            Found::Nothing => 0,
            Found::Settlement => watch.disputes.saturating_add(1),
            Found::Failure => watch.disputes,
        };
        if found == Found::Settlement && watch.disputes == 2 {
            warn!(stream_id = %id, "the Lightning backend reports a settlement whose proof or amount is wrong");
        }
        let wait = if watch.urgent {
            Duration::ZERO
        } else if found == Found::Failure || watch.disputes == 1 {
            self.schedule.after_failure(watch.over, among)
        } else {
            watch.times = watch.times.saturating_add(1);
            self.interval(watch, among)
        };
        let at = now.plus(wait);
        watch.at = Some(at);
        drop(watched);
        self.core.timers.set(at, id, TimerKind::LookUp);
    }

    fn interval(&self, watch: &Watch, among: usize) -> Duration {
        let status = self.backend.as_ref().map(|backend| backend.status());
        let notified = status.is_some_and(|status| status.connected && status.sends_notifications);
        self.schedule.interval(watch, notified, among)
    }
}

#[cfg(test)]
mod tests;
