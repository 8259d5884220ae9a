//! Invoices of our own that may be paid, and when the wallet is asked about them.
//!
//! Settlements are told by the wallet where it does that. Look-ups are the backstop: each open invoice has one timer, whose
//! interval doubles, and is stretched when there are many. Those that are due take turns, all together no more than
//! `wallet.lookups_per_second`. So 10,000 open invoices cost what 100 do, and a look-up that brings nothing new costs no
//! write (docs/performance.md). A person who waits for a new invoice has most of the turns: a notification that was lost does
//! not keep them waiting for long. A look-up that somebody has a reason for does not wait for its turn.

mod lanes;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tracing::{debug, error};
use usher_protocol::message::PaymentHash;

use self::lanes::{Lane, Lanes, Turn};
use super::Engine;
use super::timers::Alarm;
use crate::operations::Input;
use crate::ports::InvoiceStatus;
use crate::{StreamId, UnixMillis};

/// Look-ups of watched invoices that run at the same time.
const LOOK_UPS_AT_ONCE: usize = 32;

/// So many look-ups of an invoice that a person waits for are made in time however many others there are.
const FIRST: u8 = 4;

/// Seconds to the next look-up of an invoice when the wallet tells of settlements by itself; the last goes on.
const WHEN_TOLD: [u64; 4] = [60, 120, 300, 600];

/// The same for an invoice that a person waits for: after 5, 10, 20 and 40 seconds, whatever the wallet promises.
const WHEN_AWAITED: [u64; 8] = [5, 5, 10, 20, 60, 120, 300, 600];

/// Seconds to the next look-up of an invoice when it does not; the last goes on.
const WHEN_NOT_TOLD: [u64; 6] = [2, 4, 8, 15, 30, 60];

/// Seconds to the next look-up of an invoice when the wallet could not be asked.
const AFTER_FAILURE: u64 = 10;

/// Seconds to the next look-up of an invoice that the app has been told is over; the last goes on.
const WHEN_OVER: [u64; 4] = [60, 600, 3600, 21_600];

/// The invoices, and the places of those that are looked up.
pub(super) struct Watching {
    watched: Mutex<Watched>,
    places: Semaphore,
    /// Something waits for its turn.
    more: Notify,
}

/// An invoice that may be paid.
struct Watch {
    hash: PaymentHash,
    /// When it is looked up next; `None` while it is, or waits for its turn.
    at: Option<UnixMillis>,
    /// It waits for its turn.
    waits: bool,
    /// How often it was looked up in this stage.
    times: u8,
    over: bool,
    /// A person waits for its payment.
    awaited: bool,
    /// It is looked up together with all others, after a restart or when the wallet was away.
    with_all: bool,
    /// There is a reason to look: it does not wait for its turn.
    urgent: bool,
    /// While it was looked up there came a reason to look once more.
    again: bool,
}

#[derive(Default)]
struct Watched {
    by_stream: HashMap<StreamId, Watch>,
    /// How many of them are over.
    over: usize,
    lanes: Lanes,
}

impl Watch {
    fn new(hash: PaymentHash, at: UnixMillis, over: bool, awaited: bool) -> Self {
        let at = Some(at);
        Self { hash, at, waits: false, times: 0, over, awaited, with_all: false, urgent: false, again: false }
    }

    /// Whether a person has just begun to wait for it.
    const fn is_new(&self) -> bool {
        self.awaited && !self.over && self.times < FIRST
    }

    const fn lane(&self) -> Lane {
        match self {
            Self { over: true, .. } => Lane::Over,
            Self { with_all: false, .. } if self.is_new() => Lane::Awaited,
            Self { .. } => Lane::Open,
        }
    }
}

impl Default for Watching {
    fn default() -> Self {
        Self { watched: Mutex::default(), places: Semaphore::new(LOOK_UPS_AT_ONCE), more: Notify::new() }
    }
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

    /// How many are looked up at the same pace.
    fn among(&self, over: bool) -> usize {
        if over { self.over } else { self.by_stream.len() - self.over }
    }
}

impl Engine {
    /// How many invoices are watched.
    pub fn watched_invoices(&self) -> usize {
        self.wallet.watching.watched.lock().by_stream.len()
    }

    /// How many of them are of payments that are not over.
    pub(super) fn open_invoices(&self) -> usize {
        self.wallet.watching.watched.lock().among(false)
    }

    /// Watches the operation's invoice, unless it is watched already.
    pub(super) fn watch(&self, id: StreamId, hash: PaymentHash, awaited: bool, now: UnixMillis) {
        let over = self.index.get(id).is_some_and(|stream| stream.done);
        let mut watched = self.wallet.watching.watched.lock();
        let before = match watched.by_stream.get(&id) {
            Some(watch) if watch.hash == hash && watch.over == over => return,
            Some(watch) => watch.at,
            None => None,
        };
        let mut watch = Watch::new(hash, now, over, awaited);
        let at = now.plus(self.look_up_interval(&watch, watched.among(over)));
        watch.at = Some(at);
        watched.put(id, watch);
        drop(watched);
        if let Some(before) = before {
            self.timers.cancel(before, id, Alarm::LookUp);
        }
        self.timers.set(at, id, Alarm::LookUp);
        if self.index.get(id).is_none() {
            self.unwatch(id); // finished just now
        }
    }

    /// After a restart: the invoice is looked up when it is its turn, for what happened meanwhile was told to nobody.
    pub(super) fn watch_again(&self, id: StreamId, hash: PaymentHash, over: bool, now: UnixMillis) {
        let watch = Watch { with_all: true, ..Watch::new(hash, now, over, true) };
        self.wallet.watching.watched.lock().put(id, watch);
        self.timers.set(now, id, Alarm::LookUp);
    }

    pub(super) fn unwatch(&self, id: StreamId) {
        let removed = self.wallet.watching.watched.lock().remove(id);
        if let Some(at) = removed.and_then(|watch| watch.at) {
            self.timers.cancel(at, id, Alarm::LookUp);
        }
    }

    /// There is a reason to look: the payer says that it has paid.
    pub(super) fn look_up_soon(&self, id: StreamId, now: UnixMillis) {
        let mut watched = self.wallet.watching.watched.lock();
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
            self.timers.cancel(before, id, Alarm::LookUp);
        }
        self.timers.set(now, id, Alarm::LookUp);
    }

    /// Nobody was told what happened meanwhile: all are looked up, one after the other.
    pub(super) fn look_up_all(&self, now: UnixMillis) {
        let mut watched = self.wallet.watching.watched.lock();
        for (id, watch) in &mut watched.by_stream {
            if let Some(before) = watch.at
                && before > now
            {
                watch.at = Some(now);
                watch.with_all = true;
                self.timers.cancel(before, *id, Alarm::LookUp);
                self.timers.set(now, *id, Alarm::LookUp);
            }
        }
    }

    /// The clock was set back by `by`: invoices are looked up as soon as they would have been.
    pub(super) fn bring_look_ups_forward(&self, by: Duration) {
        let mut watched = self.wallet.watching.watched.lock();
        for (id, watch) in &mut watched.by_stream {
            if let Some(before) = watch.at {
                let at = before.minus(by);
                watch.at = Some(at);
                self.timers.cancel(before, *id, Alarm::LookUp);
                self.timers.set(at, *id, Alarm::LookUp);
            }
        }
    }

    /// An invoice's time to be looked up has come.
    pub(super) fn look_up_due(self: &Arc<Self>, id: StreamId) {
        let now = self.clock.now();
        let mut watched = self.wallet.watching.watched.lock();
        let Watched { by_stream, lanes, .. } = &mut *watched;
        let due = |watch: &&mut Watch| watch.at.is_some_and(|at| at <= now);
        let Some(watch) = by_stream.get_mut(&id).filter(due) else { return };
        watch.at = None;
        if watch.urgent {
            drop(watched);
            return self.look_up(id);
        }
        watch.waits = true;
        lanes.put(watch.lane(), id);
        drop(watched);
        self.wallet.watching.more.notify_one();
    }

    /// Looks up those that are due, one after the other, until everything stops.
    pub(super) async fn pace_look_ups(self: Arc<Self>) {
        let gap = Duration::from_secs(1) / u32::try_from(self.look_ups_per_second()).unwrap_or(u32::MAX);
        loop {
            let turn = {
                let mut watched = self.wallet.watching.watched.lock();
                let Watched { by_stream, lanes, .. } = &mut *watched;
                let turn =
                    lanes.take(self.clock.monotonic(), gap, |id| by_stream.get(&id).is_some_and(|watch| watch.waits));
                if let Turn::Of(id) = turn
                    && let Some(watch) = by_stream.get_mut(&id)
                {
                    watch.waits = false;
                }
                turn
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = async {
                    match turn {
                        Turn::Of(id) => self.look_up(id),
                        Turn::Wait(wait) => self.clock.sleep(wait).await,
                        Turn::Nobody => self.wallet.watching.more.notified().await,
                    }
                } => {}
            }
        }
    }

    /// Most look-ups a second that nobody has a reason for.
    fn look_ups_per_second(&self) -> u64 {
        self.options.payments.look_ups_per_second.max(1)
    }

    fn look_up(self: &Arc<Self>, id: StreamId) {
        let Some(parts) = &self.wallet.lightning else { return };
        let found = self.wallet.watching.watched.lock().by_stream.get(&id).map(|watch| (watch.hash, watch.over));
        let Some((hash, over)) = found else { return };
        let (engine, wallet) = (Arc::clone(self), Arc::clone(&parts.adapter));
        self.tasks.spawn(async move {
            let _place = tokio::select! {
                place = engine.wallet.watching.places.acquire() => place,
                () = engine.stop.cancelled() => return,
            };
            // It may have been paid, and told, while this waited for its place.
            if !engine.is_watched(id, hash) {
                return engine.look_up_again(id, false);
            }
            // A task of its own: should the adapter panic, it is looked up again all the same.
            let mut look_up = JoinSet::new();
            look_up.spawn(async move { wallet.look_up_invoice(hash).await });
            let status = tokio::select! {
                status = look_up.join_next() => status,
                () = engine.stop.cancelled() => return,
            };
            let Some(Ok(status)) = status else {
                error!(stream_id = %id, "a look-up of an invoice panicked");
                return engine.look_up_again(id, true);
            };
            engine.wallet.count(2, &status);
            let failed = status.is_err();
            match status {
                // What is over may wait for a last word.
                Ok(status) if over || matches!(status, InvoiceStatus::Settled(_)) => {
                    engine.workers.input(id, Input::InvoiceStatus(Ok(status))).await;
                }
                Ok(_) => {}
                Err(failure) => debug!(stream_id = %id, %failure, "an invoice could not be looked up"),
            }
            engine.look_up_again(id, failed);
        });
    }

    fn is_watched(&self, id: StreamId, hash: PaymentHash) -> bool {
        self.wallet.watching.watched.lock().by_stream.get(&id).is_some_and(|watch| watch.hash == hash)
    }

    fn look_up_again(&self, id: StreamId, failed: bool) {
        let now = self.clock.now();
        let mut watched = self.wallet.watching.watched.lock();
        let (open, over) = (watched.among(false), watched.among(true));
        let is_running = |watch: &&mut Watch| watch.at.is_none() && !watch.waits;
        let Some(watch) = watched.by_stream.get_mut(&id).filter(is_running) else { return };
        let among = if watch.over { over } else { open };
        watch.urgent = std::mem::take(&mut watch.again);
        watch.with_all = false;
        let wait = if watch.urgent {
            Duration::ZERO
        } else if failed {
            self.stretched(AFTER_FAILURE, watch.over, among)
        } else {
            watch.times = watch.times.saturating_add(1);
            self.look_up_interval(watch, among)
        };
        let at = now.plus(wait);
        watch.at = Some(at);
        drop(watched);
        self.timers.set(at, id, Alarm::LookUp);
    }

    /// How long from one look-up to the next, of an invoice among so many.
    fn look_up_interval(&self, watch: &Watch, among: usize) -> Duration {
        let link = self.wallet.lightning.as_ref().map(|parts| parts.adapter.link());
        let told = link.is_some_and(|link| link.connected && link.tells_settlements);
        let schedule: &[u64] = match (watch.over, told) {
            (true, _) => &WHEN_OVER,
            (false, true) if watch.awaited => &WHEN_AWAITED,
            (false, true) => &WHEN_TOLD,
            (false, false) => &WHEN_NOT_TOLD,
        };
        let secs = schedule.get(usize::from(watch.times)).or(schedule.last()).copied().unwrap_or(60);
        if watch.is_new() { Duration::from_secs(secs) } else { self.stretched(secs, watch.over, among) }
    }

    /// So long, or longer when there are many.
    fn stretched(&self, secs: u64, over: bool, among: usize) -> Duration {
        let all = self.look_ups_per_second();
        // Of those that are over there may be very many, for a day each.
        let per_second = if over { (all / 5).max(1) } else { all };
        Duration::from_secs(secs.max(among as u64 / per_second))
    }
}
