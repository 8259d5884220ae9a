//! Invoices of our own that may be paid, and when the wallet is asked about them.
//!
//! Settlements are told by the wallet where it does that. Look-ups are the backstop: each open invoice has one timer, whose
//! interval doubles, and is stretched so that all invoices together cause no more than [`LOOK_UPS_PER_SECOND`]; those that
//! come due together take turns. So 10,000 open invoices cost what 100 do, and a look-up that brings nothing new costs no
//! write (docs/performance.md). Those that are over have a pace of their own: there are many, for a day each, and they hold
//! up none that is open. A look-up that somebody has a reason for does not wait for its turn.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::{debug, error};
use usher_protocol::message::PaymentHash;

use super::Engine;
use super::timers::Alarm;
use crate::operations::Input;
use crate::ports::InvoiceStatus;
use crate::{StreamId, UnixMillis};

/// Look-ups of watched invoices that run at the same time.
const LOOK_UPS_AT_ONCE: usize = 32;

/// Most look-ups a second, all open invoices together, but for those somebody has a reason for.
const LOOK_UPS_PER_SECOND: u64 = 10;

/// Most look-ups a second of invoices that the app has been told are over.
const OVER_PER_SECOND: u64 = 2;

/// Seconds to the next look-up of an invoice when the wallet tells of settlements by itself; the last goes on.
const WHEN_TOLD: [u64; 4] = [60, 120, 300, 600];

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
}

/// An invoice that may be paid.
struct Watch {
    hash: PaymentHash,
    /// When it is looked up next; `None` while it is.
    at: Option<UnixMillis>,
    /// How often it was looked up in this stage.
    times: u8,
    over: bool,
    /// It is its turn at that time, or there is a reason to look.
    turn: bool,
    /// While it was looked up there came a reason to look once more.
    again: bool,
}

#[derive(Default)]
struct Watched {
    by_stream: HashMap<StreamId, Watch>,
    /// How many of them are over.
    over: usize,
    /// From when on the next turn of those that are open is free, and of those that are over.
    free: [UnixMillis; 2],
}

impl Default for Watching {
    fn default() -> Self {
        Self { watched: Mutex::default(), places: Semaphore::new(LOOK_UPS_AT_ONCE) }
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

    /// Takes the next free turn.
    fn turn(&mut self, over: bool, now: UnixMillis) -> UnixMillis {
        // No more than one turn each is taken: what is later was taken when the clock was ahead.
        let last = now.plus(Duration::from_millis(self.among(over) as u64 * 1000 / per_second(over)));
        let [open_free, over_free] = &mut self.free;
        let free = if over { over_free } else { open_free };
        let turn = now.max(*free).min(last);
        *free = turn.plus(Duration::from_millis(1000 / per_second(over)));
        turn
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
    pub(super) fn watch(&self, id: StreamId, hash: PaymentHash, now: UnixMillis) {
        let over = self.index.get(id).is_some_and(|stream| stream.done);
        let mut watched = self.wallet.watching.watched.lock();
        let before = match watched.by_stream.get(&id) {
            Some(watch) if watch.hash == hash && watch.over == over => return,
            Some(watch) => watch.at,
            None => None,
        };
        let at = now.plus(self.look_up_interval(0, over, watched.among(over)));
        watched.put(id, Watch { hash, at: Some(at), times: 0, over, turn: false, again: false });
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
        let mut watched = self.wallet.watching.watched.lock();
        let at = now.plus(spread(watched.among(over), over));
        watched.put(id, Watch { hash, at: Some(at), times: 0, over, turn: true, again: false });
        drop(watched);
        self.timers.set(at, id, Alarm::LookUp);
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
        let Some(before) = watch.at else {
            watch.again = true;
            return;
        };
        watch.turn = true;
        if before <= now {
            return; // about to be
        }
        watch.at = Some(now);
        drop(watched);
        self.timers.cancel(before, id, Alarm::LookUp);
        self.timers.set(now, id, Alarm::LookUp);
    }

    /// Nobody was told what happened meanwhile: all are looked up, at twice the usual pace.
    pub(super) fn look_up_all(&self, now: UnixMillis) {
        let mut watched = self.wallet.watching.watched.lock();
        let (mut open, mut over) = (0, 0);
        for (id, watch) in &mut watched.by_stream {
            let nth = if watch.over { &mut over } else { &mut open };
            let at = now.plus(spread(*nth, watch.over));
            *nth += 1;
            if let Some(before) = watch.at
                && before > at
            {
                watch.at = Some(at);
                watch.turn = true;
                self.timers.cancel(before, *id, Alarm::LookUp);
                self.timers.set(at, *id, Alarm::LookUp);
            }
        }
    }

    /// The clock was set back by `by`: invoices are looked up as soon as they would have been.
    pub(super) fn bring_look_ups_forward(&self, by: Duration) {
        let mut watched = self.wallet.watching.watched.lock();
        for free in &mut watched.free {
            *free = free.minus(by);
        }
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
        let Some(parts) = &self.wallet.lightning else { return };
        let now = self.clock.now();
        let (hash, over) = {
            let mut watched = self.wallet.watching.watched.lock();
            let due = |watch: &&mut Watch| watch.at.is_some_and(|at| at <= now);
            let Some((over, turn)) = watched.by_stream.get_mut(&id).filter(due).map(|watch| (watch.over, watch.turn))
            else {
                return;
            };
            let at = if turn { now } else { watched.turn(over, now) };
            let Some(watch) = watched.by_stream.get_mut(&id) else { return };
            if at > now {
                (watch.at, watch.turn) = (Some(at), true);
                drop(watched);
                return self.timers.set(at, id, Alarm::LookUp);
            }
            watch.at = None;
            (watch.hash, over)
        };
        let (engine, wallet) = (Arc::clone(self), Arc::clone(&parts.wallet));
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
        let Some(watch) = watched.by_stream.get_mut(&id).filter(|watch| watch.at.is_none()) else { return };
        let among = if watch.over { over } else { open };
        watch.turn = std::mem::take(&mut watch.again);
        let wait = if watch.turn {
            Duration::ZERO
        } else if failed {
            stretched(AFTER_FAILURE, watch.over, among)
        } else {
            watch.times = watch.times.saturating_add(1);
            self.look_up_interval(watch.times, watch.over, among)
        };
        let at = now.plus(wait);
        watch.at = Some(at);
        drop(watched);
        self.timers.set(at, id, Alarm::LookUp);
    }

    /// How long from one look-up to the next, of an invoice among so many.
    fn look_up_interval(&self, times: u8, over: bool, among: usize) -> Duration {
        let link = self.wallet.lightning.as_ref().map(|parts| parts.wallet.link());
        let told = link.is_some_and(|link| link.connected && link.tells_settlements);
        let schedule: &[u64] = match (over, told) {
            (true, _) => &WHEN_OVER,
            (false, true) => &WHEN_TOLD,
            (false, false) => &WHEN_NOT_TOLD,
        };
        let secs = schedule.get(usize::from(times)).or(schedule.last()).copied().unwrap_or(60);
        stretched(secs, over, among)
    }
}

/// So long, or longer when there are many.
fn stretched(secs: u64, over: bool, among: usize) -> Duration {
    Duration::from_secs(secs.max(among as u64 / per_second(over)))
}

/// Most look-ups a second of those that are over, or open.
const fn per_second(over: bool) -> u64 {
    if over { OVER_PER_SECOND } else { LOOK_UPS_PER_SECOND }
}

/// When the `nth` of many invoices is looked up, when all are: at twice the usual pace.
const fn spread(nth: usize, over: bool) -> Duration {
    Duration::from_millis(nth as u64 * 500 / per_second(over))
}
