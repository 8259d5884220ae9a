//! Our own Lightning wallet: what operations ask it, and what it tells by itself.
//!
//! A call is made once, after the commit that asks for it, and its answer is an input of the operation. Answers that are
//! lost in a crash are made up for by the operation's own lease.
//!
//! Settlements are told by the wallet where it does that. Look-ups are the backstop: each open invoice has one timer, whose
//! interval doubles, and is stretched so that all invoices together cause no more than [`LOOK_UPS_PER_SECOND`]. So 10,000
//! open invoices cost what 100 do, and a look-up that brings nothing new costs no write (docs/performance.md). Those that
//! are over have a pace of their own: there are many, for a day each, and they hold up none that is open.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, mpsc};
use tracing::{debug, info, warn};
use usher_protocol::message::PaymentHash;

use super::Engine;
use super::timers::Alarm;
use crate::operations::{Input, WalletCall};
use crate::ports::{
    CorrelationKey, InvoiceStatus, Lightning, LightningError, LightningNotice, LightningNotices, WalletInfo, WalletLink,
};
use crate::{StreamId, UnixMillis};

/// Calls that wait for their turn.
const QUEUE: usize = 4096;

/// Calls that run at the same time, but for those that pay.
const AT_ONCE: usize = 64;

/// Calls that pay and run at the same time. Payees can hold payments back: these have a line of their own, so that they keep
/// nobody from an invoice.
const PAYS_AT_ONCE: usize = 32;

/// Look-ups of watched invoices that run at the same time.
const LOOK_UPS_AT_ONCE: usize = 8;

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

/// What the wallet is asked, as metrics name it.
const CALLS: [&str; 4] = ["make_invoice", "pay", "look_up_invoice", "look_up_payment"];

/// What comes of it, as metrics name it.
const RESULTS: [&str; 4] = ["answered", "refused", "not_sent", "unknown"];

/// Our own wallet, when there is one.
#[derive(Clone)]
pub struct LightningParts {
    /// The wallet.
    pub wallet: Arc<dyn Lightning>,
    /// Its name in the configuration (`wallet.ln_backend`).
    pub backend: &'static str,
}

/// What operations ask of our own wallet, and which invoices are watched.
pub(super) struct Wallet {
    lightning: Option<LightningParts>,
    calls: mpsc::Sender<(StreamId, WalletCall)>,
    pays: mpsc::Sender<(StreamId, WalletCall)>,
    watched: Mutex<Watched>,
    look_ups: Arc<Semaphore>,
    /// By call and result.
    counts: [[AtomicU64; RESULTS.len()]; CALLS.len()],
}

/// An invoice that may be paid.
struct Watch {
    hash: PaymentHash,
    /// When it is looked up next; `None` while it is.
    at: Option<UnixMillis>,
    /// How often it was looked up in this stage.
    times: u8,
    over: bool,
    /// While it was looked up there came a reason to look once more.
    again: bool,
}

/// Invoices that may be paid.
#[derive(Default)]
struct Watched {
    by_stream: HashMap<StreamId, Watch>,
    /// How many of them are over.
    over: usize,
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

/// What operations ask the wallet.
pub(super) struct Asked {
    calls: mpsc::Receiver<(StreamId, WalletCall)>,
    pays: mpsc::Receiver<(StreamId, WalletCall)>,
}

impl Wallet {
    pub(super) fn new(lightning: Option<LightningParts>) -> (Self, Asked) {
        let ((calls, calls_asked), (pays, pays_asked)) = (mpsc::channel(QUEUE), mpsc::channel(QUEUE));
        let look_ups = Arc::new(Semaphore::new(LOOK_UPS_AT_ONCE));
        let wallet = Self { lightning, calls, pays, watched: Mutex::default(), look_ups, counts: Default::default() };
        (wallet, Asked { calls: calls_asked, pays: pays_asked })
    }

    fn count<T>(&self, call: usize, result: &Result<T, LightningError>) {
        let place = match result {
            Ok(_) => 0,
            Err(LightningError::Refused { .. }) => 1,
            Err(LightningError::NotSent) => 2,
            Err(LightningError::Unknown(_)) => 3,
        };
        if let Some(count) = self.counts.get(call).and_then(|counts| counts.get(place)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn tells(&self) -> bool {
        self.lightning.as_ref().is_some_and(|parts| {
            let link = parts.wallet.link();
            link.connected && link.tells_settlements
        })
    }

    /// How long from one look-up to the next, of an invoice among so many.
    fn interval(&self, times: u8, over: bool, among: usize) -> Duration {
        let schedule: &[u64] = match (over, self.tells()) {
            (true, _) => &WHEN_OVER,
            (false, true) => &WHEN_TOLD,
            (false, false) => &WHEN_NOT_TOLD,
        };
        let secs = schedule.get(usize::from(times)).or(schedule.last()).copied().unwrap_or(60);
        Self::stretched(secs, over, among)
    }

    /// So long, or longer when there are many.
    fn stretched(secs: u64, over: bool, among: usize) -> Duration {
        Duration::from_secs(secs.max(among as u64 / per_second(over)))
    }
}

impl Engine {
    /// Whether there is a wallet of our own.
    pub fn has_wallet(&self) -> bool {
        self.wallet.lightning.is_some()
    }

    /// The wallet's name in the configuration and what it says of itself; `None` when there is no wallet.
    pub async fn wallet_info(&self) -> Option<(&'static str, Result<WalletInfo, LightningError>)> {
        let parts = self.wallet.lightning.clone()?;
        Some((parts.backend, parts.wallet.info().await))
    }

    /// The wallet's name in the configuration and how the connection to it stands; `None` when there is no wallet.
    pub fn wallet_link(&self) -> Option<(&'static str, WalletLink)> {
        self.wallet.lightning.as_ref().map(|parts| (parts.backend, parts.wallet.link()))
    }

    /// What the wallet was asked and what came of it, with how often.
    pub fn wallet_calls(&self) -> Vec<(&'static str, &'static str, u64)> {
        let of = |(call, counts): (&'static str, &[AtomicU64; 4])| {
            RESULTS
                .iter()
                .zip(counts)
                .map(move |(result, count)| (call, *result, count.load(Ordering::Relaxed)))
                .collect::<Vec<_>>()
        };
        CALLS.into_iter().zip(&self.wallet.counts).flat_map(of).collect()
    }

    /// How many invoices are watched.
    pub fn watched_invoices(&self) -> usize {
        self.wallet.watched.lock().by_stream.len()
    }

    /// Asks soon; never waits. When too many wait already, nothing is sent and the operation is told so.
    pub(super) fn ask(&self, id: StreamId, call: WalletCall) {
        let line = if matches!(call, WalletCall::Pay { .. }) { &self.wallet.pays } else { &self.wallet.calls };
        let Err(TrySendError::Full((_, call))) = line.try_send((id, call)) else { return };
        warn!(stream_id = %id, "the wallet is asked more than it answers");
        let input = failed(&call, || LightningError::NotSent);
        let workers = self.workers.clone();
        self.tasks.spawn(async move { workers.input(id, input).await });
    }

    /// Asks the wallet what operations want of it, until everything stops.
    pub(super) async fn ask_wallet(self: Arc<Self>, asked: Asked) {
        let Asked { calls, pays } = asked;
        tokio::join!(self.ask_in_line(calls, AT_ONCE), self.ask_in_line(pays, PAYS_AT_ONCE));
    }

    async fn ask_in_line(self: &Arc<Self>, mut asked: mpsc::Receiver<(StreamId, WalletCall)>, at_once: usize) {
        let places = Arc::new(Semaphore::new(at_once));
        loop {
            let (id, call) = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                call = asked.recv() => match call {
                    Some(call) => call,
                    None => return,
                },
            };
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let engine = Arc::clone(self);
            self.tasks.spawn(async move {
                let input = tokio::select! {
                    input = engine.call(id, call) => input,
                    // What the wallet would have said is asked for after the next start.
                    () = engine.stop.cancelled() => return,
                };
                drop(place);
                engine.workers.input(id, input).await;
            });
        }
    }

    async fn call(&self, id: StreamId, call: WalletCall) -> Input {
        let Some(parts) = &self.wallet.lightning else {
            let failure = || LightningError::Refused { again: false, reason: "no wallet is configured".to_owned() };
            return match call {
                // That no wallet is configured now says nothing of what one did before.
                WalletCall::LookUpPayment(_) => failed(&call, || LightningError::NotSent),
                _ => failed(&call, failure),
            };
        };
        let wallet = &parts.wallet;
        // Tests end the process at these points, and see that the books are right after the next start.
        let input = match call {
            WalletCall::MakeInvoice(wanted) => {
                fail::fail_point!("before-make-invoice");
                let made = wallet.make_invoice(&wanted).await;
                fail::fail_point!("after-make-invoice");
                Input::InvoiceMade(made)
            }
            WalletCall::LookUpInvoice(hash) => {
                fail::fail_point!("before-look-up-invoice");
                let status = wallet.look_up_invoice(hash).await;
                fail::fail_point!("after-look-up-invoice");
                Input::InvoiceStatus(status)
            }
            // It has waited in line for too long.
            WalletCall::Pay { until, .. } if self.clock.now().secs() >= until => {
                Input::Paid(Err(LightningError::NotSent))
            }
            WalletCall::Pay { invoice, until } => {
                fail::fail_point!("before-pay");
                let paid = wallet.pay(&invoice, until).await;
                fail::fail_point!("after-pay");
                Input::Paid(paid)
            }
            WalletCall::LookUpPayment(hash) => {
                fail::fail_point!("before-look-up-payment");
                let status = wallet.look_up_payment(hash).await;
                fail::fail_point!("after-look-up-payment");
                Input::PaymentStatus(status)
            }
        };
        match &input {
            Input::InvoiceMade(made) => self.wallet.count(0, made),
            Input::Paid(paid) => self.wallet.count(1, paid),
            Input::InvoiceStatus(status) => self.wallet.count(2, status),
            Input::PaymentStatus(status) => self.wallet.count(3, status),
            _ => {}
        }
        match &input {
            Input::InvoiceMade(Err(failure)) => warn!(stream_id = %id, %failure, "the wallet made no invoice"),
            Input::Paid(Err(failure)) => warn!(stream_id = %id, %failure, "the wallet did not say that it paid"),
            Input::InvoiceStatus(Err(failure)) | Input::PaymentStatus(Err(failure)) => {
                debug!(stream_id = %id, %failure, "the wallet could not be asked");
            }
            _ => {}
        }
        input
    }

    /// Takes in what the wallet tells by itself, until everything stops.
    pub(super) async fn hear_wallet(self: Arc<Self>, mut notices: LightningNotices) {
        loop {
            let notice = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                notice = notices.recv() => notice,
            };
            match notice {
                None => return,
                Some(LightningNotice::Settled(hash, settlement)) => {
                    let Some(id) = self.index.find(CorrelationKey::invoice(hash)) else { continue };
                    fail::fail_point!("settled");
                    if settlement.preimage.is_some() {
                        self.workers.input(id, Input::Settled(settlement)).await;
                    } else {
                        self.look_up_soon(id, self.clock.now());
                    }
                }
                Some(LightningNotice::Sent(hash, paid)) => {
                    if let Some(id) = self.index.find(CorrelationKey::paying(hash)) {
                        self.workers.input(id, Input::Paid(Ok(paid))).await;
                    }
                }
                Some(LightningNotice::Reconnected) => {
                    info!("the wallet can be heard again; open invoices are looked up");
                    self.look_up_all(self.clock.now());
                }
            }
        }
    }

    /// Watches the operation's invoice, unless it is watched already.
    pub(super) fn watch(&self, id: StreamId, hash: PaymentHash, now: UnixMillis) {
        let over = self.index.get(id).is_some_and(|stream| stream.done);
        let mut watched = self.wallet.watched.lock();
        let before = match watched.by_stream.get(&id) {
            Some(watch) if watch.hash == hash && watch.over == over => return,
            Some(watch) => watch.at,
            None => None,
        };
        let at = now.plus(self.wallet.interval(0, over, watched.among(over)));
        watched.put(id, Watch { hash, at: Some(at), times: 0, over, again: false });
        drop(watched);
        if let Some(before) = before {
            self.timers.cancel(before, id, Alarm::LookUp);
        }
        self.timers.set(at, id, Alarm::LookUp);
    }

    /// After a restart: the invoice is looked up when it is its turn, for what happened meanwhile was told to nobody.
    pub(super) fn watch_again(&self, id: StreamId, hash: PaymentHash, over: bool, now: UnixMillis) {
        let mut watched = self.wallet.watched.lock();
        let at = now.plus(spread(watched.among(over), over));
        watched.put(id, Watch { hash, at: Some(at), times: 0, over, again: false });
        drop(watched);
        self.timers.set(at, id, Alarm::LookUp);
    }

    pub(super) fn unwatch(&self, id: StreamId) {
        let removed = self.wallet.watched.lock().remove(id);
        if let Some(at) = removed.and_then(|watch| watch.at) {
            self.timers.cancel(at, id, Alarm::LookUp);
        }
    }

    /// There is a reason to look: the payer says that it has paid.
    pub(super) fn look_up_soon(&self, id: StreamId, now: UnixMillis) {
        let mut watched = self.wallet.watched.lock();
        let Some(watch) = watched.by_stream.get_mut(&id) else { return };
        let Some(before) = watch.at else {
            watch.again = true;
            return;
        };
        if before <= now {
            return; // about to be
        }
        watch.at = Some(now);
        drop(watched);
        self.timers.cancel(before, id, Alarm::LookUp);
        self.timers.set(now, id, Alarm::LookUp);
    }

    fn look_up_all(&self, now: UnixMillis) {
        let mut watched = self.wallet.watched.lock();
        let (mut open, mut over) = (0, 0);
        for (id, watch) in &mut watched.by_stream {
            let nth = if watch.over { &mut over } else { &mut open };
            let at = now.plus(spread(*nth, watch.over));
            *nth += 1;
            if let Some(before) = watch.at
                && before > at
            {
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
            let mut watched = self.wallet.watched.lock();
            let watch = watched.by_stream.get_mut(&id).filter(|watch| watch.at.is_some_and(|at| at <= now));
            let Some(watch) = watch else { return };
            watch.at = None;
            (watch.hash, watch.over)
        };
        let (engine, wallet) = (Arc::clone(self), Arc::clone(&parts.wallet));
        self.tasks.spawn(async move {
            let look_up = async {
                let _place = engine.wallet.look_ups.acquire().await;
                wallet.look_up_invoice(hash).await
            };
            let status = tokio::select! {
                status = look_up => status,
                () = engine.stop.cancelled() => return,
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

    fn look_up_again(&self, id: StreamId, failed: bool) {
        let now = self.clock.now();
        let mut watched = self.wallet.watched.lock();
        let (open, over) = (watched.among(false), watched.among(true));
        let Some(watch) = watched.by_stream.get_mut(&id).filter(|watch| watch.at.is_none()) else { return };
        let among = if watch.over { over } else { open };
        let wait = if std::mem::take(&mut watch.again) {
            Duration::ZERO
        } else if failed {
            Wallet::stretched(AFTER_FAILURE, watch.over, among)
        } else {
            watch.times = watch.times.saturating_add(1);
            self.wallet.interval(watch.times, watch.over, among)
        };
        let at = now.plus(wait);
        watch.at = Some(at);
        drop(watched);
        self.timers.set(at, id, Alarm::LookUp);
    }
}

/// The answer to a call that was not made.
fn failed(call: &WalletCall, failure: impl FnOnce() -> LightningError) -> Input {
    match call {
        WalletCall::MakeInvoice(_) => Input::InvoiceMade(Err(failure())),
        WalletCall::LookUpInvoice(_) => Input::InvoiceStatus(Err(failure())),
        WalletCall::Pay { .. } => Input::Paid(Err(failure())),
        WalletCall::LookUpPayment(_) => Input::PaymentStatus(Err(failure())),
    }
}

/// Most look-ups a second of those that are over, or open.
const fn per_second(over: bool) -> u64 {
    if over { OVER_PER_SECOND } else { LOOK_UPS_PER_SECOND }
}

/// When the `nth` of many invoices is looked up, when all are: at twice the usual pace.
const fn spread(nth: usize, over: bool) -> Duration {
    Duration::from_millis(nth as u64 * 500 / per_second(over))
}
