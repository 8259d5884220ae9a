//! Our own Lightning wallet: what operations ask it, and what it tells by itself.
//!
//! A call is made once, after the commit that asks for it, and its answer is an input of the operation. Answers that are
//! lost in a crash are made up for by the operation's own lease.
//!
//! A payment is two calls: a request is signed, and when that is stored it is sent. Both have the one place in line, so that
//! between the commit and the write to the socket nothing is waited for.
//!
//! Settlements are told by the wallet where it does that; [`watching`](super::watching) is the backstop.

mod line;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tracing::{debug, error, info, warn};

use self::line::{Line, Question};
use super::Engine;
use super::watching::Watching;
use crate::StreamId;
use crate::operations::{Input, WalletCall};
use crate::ports::{
    CorrelationKey, Lightning, LightningError, LightningNotice, LightningNotices, WalletInfo, WalletLink,
};

/// Calls that run at the same time, but for those that pay and those that nobody looks on at.
const AT_ONCE: usize = 64;

/// Calls that nobody looks on at and that run at the same time. All monthly subscriptions fall due at the same instant: they
/// keep nobody who stands at a checkout from an invoice.
const UNATTENDED_AT_ONCE: usize = 16;

/// Calls that pay and run at the same time. Payees can hold payments back: these have a line of their own, so that they keep
/// nobody from an invoice.
const PAYS_AT_ONCE: usize = 32;

/// What the wallet is asked, as metrics name it.
const CALLS: [&str; 4] = ["make_invoice", "pay", "look_up_invoice", "look_up_payment"];

/// What comes of it, as metrics name it.
const RESULTS: [&str; 4] = ["answered", "refused", "not_sent", "unknown"];

/// Our own wallet, when there is one.
#[derive(Clone)]
pub struct LightningBackend {
    /// The wallet.
    pub adapter: Arc<dyn Lightning>,
    /// Its name in the configuration (`wallet.ln_backend`).
    pub name: &'static str,
}

/// What operations ask of our own wallet, and which invoices are watched.
pub(super) struct Wallet {
    pub(super) lightning: Option<LightningBackend>,
    calls: Line,
    unattended: Line,
    pays: Line,
    /// Payments that are sent now. As many as have places, and after a start those whose replies were lost.
    sends: mpsc::UnboundedSender<Sending>,
    /// What waits in line, is under way, or was answered and its operation does not know yet: asked for again it is the same.
    asked: Mutex<HashSet<(StreamId, Question)>>,
    /// The places of payments whose request is signed, and about to be stored and sent.
    prepared: Mutex<HashMap<StreamId, OwnedSemaphorePermit>>,
    pub(super) watching: Watching,
    /// By call and result.
    counts: [[AtomicU64; RESULTS.len()]; CALLS.len()],
}

/// What operations ask the wallet.
pub(super) struct Asked {
    calls: mpsc::Receiver<(StreamId, WalletCall)>,
    unattended: mpsc::Receiver<(StreamId, WalletCall)>,
    pays: mpsc::Receiver<(StreamId, WalletCall)>,
    sends: mpsc::UnboundedReceiver<Sending>,
}

/// A call that is made at once, and its place.
type Sending = (StreamId, WalletCall, Option<OwnedSemaphorePermit>);

impl Wallet {
    pub(super) fn new(lightning: Option<LightningBackend>) -> (Self, Asked) {
        let (calls, calls_asked) = Line::new();
        let (unattended, unattended_asked) = Line::new();
        let (pays, pays_asked) = Line::new();
        let (sends, sends_asked) = mpsc::unbounded_channel();
        let wallet = Self {
            lightning,
            calls,
            unattended,
            pays,
            sends,
            asked: Mutex::default(),
            prepared: Mutex::default(),
            watching: Watching::default(),
            counts: Default::default(),
        };
        let asked = Asked { calls: calls_asked, unattended: unattended_asked, pays: pays_asked, sends: sends_asked };
        (wallet, asked)
    }

    /// The operation has this answer, and may ask again.
    pub(super) fn answered(&self, id: StreamId, input: &Input) {
        if let Some(question) = Question::answered_by(input) {
            self.asked.lock().remove(&(id, question));
        }
        if matches!(input, Input::PaymentPrepared(_)) {
            // Left when the request was not sent.
            self.prepared.lock().remove(&id);
        }
    }

    pub(super) fn count<T>(&self, call: usize, result: &Result<T, LightningError>) {
        let place = match result {
            Ok(_) => 0,
            Err(LightningError::Refused { .. } | LightningError::Failed(_)) => 1,
            Err(LightningError::NotSent) => 2,
            Err(LightningError::Unknown(_)) => 3,
        };
        if let Some(count) = self.counts.get(call).and_then(|counts| counts.get(place)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Engine {
    /// Whether there is a wallet of our own.
    pub fn has_lightning(&self) -> bool {
        self.wallet.lightning.is_some()
    }

    /// The wallet's name in the configuration and what it says of itself; `None` when there is no wallet.
    pub async fn lightning_info(&self) -> Option<(&'static str, Result<WalletInfo, LightningError>)> {
        let parts = self.wallet.lightning.clone()?;
        Some((parts.name, parts.adapter.info().await))
    }

    /// The wallet's name in the configuration and how the connection to it stands; `None` when there is no wallet.
    pub fn lightning_link(&self) -> Option<(&'static str, WalletLink)> {
        self.wallet.lightning.as_ref().map(|parts| (parts.name, parts.adapter.link()))
    }

    /// What the wallet was asked and what came of it, with how often.
    pub fn lightning_calls(&self) -> Vec<(&'static str, &'static str, u64)> {
        let of = |(call, counts): (&'static str, &[AtomicU64; 4])| {
            RESULTS
                .iter()
                .zip(counts)
                .map(move |(result, count)| (call, *result, count.load(Ordering::Relaxed)))
                .collect::<Vec<_>>()
        };
        CALLS.into_iter().zip(&self.wallet.counts).flat_map(of).collect()
    }

    /// Asks soon; never waits. When too many wait already, nothing is sent and the operation is told so.
    pub(super) fn ask(&self, id: StreamId, call: WalletCall, unattended: bool) {
        let wallet = &self.wallet;
        let line = match Question::of(&call) {
            // It had its turn when its request was signed, and keeps its place.
            None => {
                let place = wallet.prepared.lock().remove(&id);
                // Closed: everything stops.
                let _ = wallet.sends.send((id, call, place));
                return;
            }
            // The operation has waited for long and asks again; what it asked waits in line still.
            Some(question) if !wallet.asked.lock().insert((id, question)) => return,
            Some(Question::Prepared) => &wallet.pays,
            Some(_) if unattended => &wallet.unattended,
            Some(_) => &wallet.calls,
        };
        let Some(call) = line.put(id, call) else { return };
        let input = failed(&call, || LightningError::NotSent);
        let workers = self.workers.clone();
        self.tasks.spawn(async move { workers.input(id, input).await });
    }

    /// Asks the wallet what operations want of it, until everything stops.
    pub(super) async fn ask_wallet(self: Arc<Self>, asked: Asked) {
        let Asked { calls, unattended, pays, sends } = asked;
        tokio::join!(
            self.ask_in_line(calls, AT_ONCE),
            self.ask_in_line(unattended, UNATTENDED_AT_ONCE),
            self.ask_in_line(pays, PAYS_AT_ONCE),
            self.send_payments(sends)
        );
    }

    async fn send_payments(self: &Arc<Self>, mut sends: mpsc::UnboundedReceiver<Sending>) {
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                send = sends.recv() => match send {
                    Some((id, call, place)) => self.make_call(id, call, place),
                    None => return,
                },
            }
        }
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
            // It has ended while it waited in line.
            if self.index.get(id).is_none() {
                if let Some(question) = Question::of(&call) {
                    self.wallet.asked.lock().remove(&(id, question));
                }
                continue;
            }
            self.make_call(id, call, Some(place));
        }
    }

    /// Makes a call, and hands its answer to the operation.
    fn make_call(self: &Arc<Self>, id: StreamId, call: WalletCall, place: Option<OwnedSemaphorePermit>) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let input = tokio::select! {
                input = engine.call_guarded(id, call) => input,
                // What the wallet would have said is asked for after the next start.
                () = engine.stop.cancelled() => return,
            };
            match place {
                Some(place) if matches!(input, Input::PaymentPrepared(Ok(_))) => {
                    engine.wallet.prepared.lock().insert(id, place);
                }
                place => drop(place),
            }
            engine.workers.input(id, input).await;
        });
    }

    /// Makes the call. When the adapter panics, that is an answer too: what came of the call is not known.
    async fn call_guarded(self: &Arc<Self>, id: StreamId, call: WalletCall) -> Input {
        let (engine, asked) = (Arc::clone(self), call.clone());
        // Aborted when it is not waited for any more, that is, when everything stops.
        let mut made = JoinSet::new();
        made.spawn(async move { engine.call(call).await });
        let input = match made.join_next().await {
            Some(Ok(input)) => input,
            Some(Err(_)) | None => {
                error!(stream_id = %id, "a call to the wallet panicked");
                failed(&asked, || LightningError::Unknown("the call ended without a result".to_owned()))
            }
        };
        match &input {
            Input::InvoiceMade(made) => self.wallet.count(0, made),
            // What could not be signed was not sent; what could be is counted when it is.
            Input::PaymentPrepared(prepared @ Err(_)) => self.wallet.count(1, prepared),
            Input::PaymentSent { result, .. } => self.wallet.count(1, result),
            Input::InvoiceStatus(status) => self.wallet.count(2, status),
            Input::PaymentStatus(status) => self.wallet.count(3, status),
            _ => {}
        }
        match &input {
            Input::InvoiceMade(Err(failure)) => warn!(stream_id = %id, %failure, "the wallet made no invoice"),
            Input::PaymentSent { result: Err(failure), .. } => {
                warn!(stream_id = %id, %failure, "the wallet did not say that it paid");
            }
            Input::InvoiceStatus(Err(failure))
            | Input::PaymentStatus(Err(failure))
            | Input::PaymentPrepared(Err(failure)) => {
                debug!(stream_id = %id, %failure, "the wallet could not be asked");
            }
            _ => {}
        }
        input
    }

    async fn call(&self, call: WalletCall) -> Input {
        let Some(parts) = &self.wallet.lightning else {
            let failure = || LightningError::Refused { again: false, reason: "no wallet is configured".to_owned() };
            return match call {
                // That no wallet is configured now says nothing of what one did before.
                WalletCall::LookUpPayment { .. } => failed(&call, || LightningError::NotSent),
                WalletCall::Pay { again: true, .. } => {
                    failed(&call, || LightningError::Unknown("no wallet is configured".to_owned()))
                }
                _ => failed(&call, failure),
            };
        };
        let wallet = &parts.adapter;
        // Tests end the process at these points, and see that the books are right after the next start.
        match call {
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
            WalletCall::PreparePayment { until, .. } if self.clock.now().secs() >= until => {
                Input::PaymentPrepared(Err(LightningError::NotSent))
            }
            WalletCall::PreparePayment { invoice, until } => {
                fail::fail_point!("before-prepare-payment");
                let prepared = wallet.prepare_payment(&invoice, until).await;
                fail::fail_point!("after-prepare-payment");
                Input::PaymentPrepared(prepared)
            }
            WalletCall::Pay { invoice, payment, attempt, again } => {
                fail::fail_point!("before-pay");
                let result = wallet.pay(&invoice, &payment, again).await;
                fail::fail_point!("after-pay");
                Input::PaymentSent { attempt, result }
            }
            WalletCall::LookUpPayment { hash, asked } => {
                fail::fail_point!("before-look-up-payment");
                let status = wallet.look_up_payment(hash, asked.as_ref()).await;
                fail::fail_point!("after-look-up-payment");
                Input::PaymentStatus(status)
            }
        }
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
                        self.workers.input(id, Input::Paid(paid)).await;
                    }
                }
                Some(LightningNotice::Reconnected) => {
                    info!("the wallet can be heard again; open invoices are looked up");
                    self.look_up_all(self.clock.now());
                }
            }
        }
    }
}

/// The answer to a call that was not made.
fn failed(call: &WalletCall, failure: impl FnOnce() -> LightningError) -> Input {
    match call {
        WalletCall::MakeInvoice(_) => Input::InvoiceMade(Err(failure())),
        WalletCall::LookUpInvoice(_) => Input::InvoiceStatus(Err(failure())),
        WalletCall::PreparePayment { .. } => Input::PaymentPrepared(Err(failure())),
        WalletCall::Pay { attempt, .. } => Input::PaymentSent { attempt: *attempt, result: Err(failure()) },
        WalletCall::LookUpPayment { .. } => Input::PaymentStatus(Err(failure())),
    }
}
