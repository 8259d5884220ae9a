//! The adapter of the port `Lightning`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use usher_engine::ports::{
    Clock, CompletedPayment, InvoiceStatus, Lightning, LightningError, LightningInfo, LightningNotification,
    LightningNotifications, LightningStatus, OutgoingPaymentStatus, SignedPayment, WantedInvoice,
};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use crate::fee_rate::FeeRateEstimate;
use crate::invoices::blocking;
use crate::liquidity::sendable;
use crate::node::{MAX_PAUSE, MIN_PAUSE, StartError, build, check_owner, draft, start, until_chain};
use crate::node_context::NodeContext;
use crate::options::Options;
use crate::panic_flag::PanicGuard;
use crate::payments::{Sent, prepare};
use crate::rollback_guard::Generation;
use crate::store::Store;
use crate::{connections, events, fee_rate, funding, overview, payment_cleanup};

/// Threads of the node's runtime, some of which block on writes.
const THREADS: usize = 4;

/// Notifications queued for the engine.
const NOTIFICATIONS: usize = 1024;

/// How long to wait for a usable channel before a payment is reported as not sent.
const CHANNEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of a call that queries the liquidity provider: a connection and two requests of five seconds each.
pub(crate) const PROVIDER_TIME: Duration = Duration::from_secs(20);

/// How long to wait for the outcome of a payment, which is looked up afterwards.
const PAYMENT_TIME: Duration = Duration::from_secs(60);

/// A Lightning node inside the service.
pub struct EmbeddedLightning {
    pub(crate) inner: Arc<NodeContext>,
    /// The node's threads; taken at the stop.
    runtime: Mutex<Option<Runtime>>,
    pub(crate) handle: tokio::runtime::Handle,
    stop: CancellationToken,
}

usher_protocol::debug_shows!(EmbeddedLightning {});

impl Drop for EmbeddedLightning {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(runtime) = self.runtime.lock().take() {
            drop(shut_down(&self.inner, runtime));
        }
    }
}

/// Stops the node on its own thread, because stopping blocks, then ends the runtime, which stopping needs, and releases
/// the folder. The receiver gets a value at the end.
fn shut_down(inner: &Arc<NodeContext>, runtime: Runtime) -> oneshot::Receiver<()> {
    let (stopped, wait) = oneshot::channel();
    let inner = Arc::clone(inner);
    std::thread::spawn(move || {
        drop(inner.building.lock());
        let (node, store) = (inner.node(), Arc::clone(&inner.store));
        // The library panics if one of its threads did, for example because a write failed.
        if std::panic::catch_unwind(AssertUnwindSafe(|| node.stop())).is_err() {
            tracing::warn!("the Lightning node did not stop in order");
            // Dropping it would stop it again.
            std::mem::forget(node);
        }
        store.close();
        runtime.shutdown_background();
        let _ = stopped.send(());
    });
    wait
}

impl EmbeddedLightning {
    /// Opens the node's data and starts it in the background; does not wait for the chain or a peer. Call
    /// [`stop`](Self::stop) before the process ends.
    ///
    /// # Errors
    /// If an option is invalid, another process uses the data, or they belong to another mnemonic or network.
    pub async fn start(
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<(Arc<Self>, LightningNotifications), StartError> {
        options.mnemonic()?;
        let options = Arc::new(options);
        let guard = PanicGuard::default();
        let watched = guard.clone();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("lightning")
            .on_thread_start(move || watched.watch_this_thread())
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let handle = runtime.handle().clone();
        let inner = match open(&options, clock, guard, &handle).await {
            Ok(inner) => Arc::new(inner),
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let (notifications, to_engine) = mpsc::channel(NOTIFICATIONS);
        let stop = CancellationToken::new();
        handle.spawn(inner.generation.clone().follow(stop.clone()));
        handle.spawn(run(options, Arc::clone(&inner), notifications, stop.clone()));
        let backend = Self { inner, runtime: Mutex::new(Some(runtime)), handle, stop };
        Ok((Arc::new(backend), to_engine))
    }

    /// Stops the node in order: all state is written, so that the next start finds its channels unchanged.
    pub async fn stop(&self) {
        self.stop.cancel();
        let Some(runtime) = self.runtime.lock().take() else { return };
        self.inner.generation.advance().await;
        let _ = shut_down(&self.inner, runtime).await;
        self.inner.generation.record().await;
    }

    fn check_running(&self) -> Result<(), LightningError> {
        if self.inner.is_running() { Ok(()) } else { Err(LightningError::NotSent) }
    }

    fn has_usable_channel(&self) -> bool {
        self.inner.node().list_channels().iter().any(|channel| channel.is_usable)
    }
}

/// Runs the node once its chain source answers, on the node's runtime.
async fn run(
    options: Arc<Options>,
    inner: Arc<NodeContext>,
    notifications: mpsc::Sender<LightningNotification>,
    stop: CancellationToken,
) {
    let runtime = tokio::runtime::Handle::current();
    let provider = options.provider.clone();
    let seen = inner.node().status().current_best_block.height;
    let mut pause = MIN_PAUSE;
    let node = loop {
        if !until_chain(&options, seen, &stop).await {
            return;
        }
        let (options, building, parts) = (Arc::clone(&options), runtime.clone(), Arc::clone(&inner));
        let built = runtime.spawn_blocking(move || {
            let _building = parts.building.lock();
            build(&options, Arc::clone(&parts.store), &building, parts.closes_alone)
        });
        match built.await {
            Ok(Ok(node)) => break Arc::new(node),
            // The chain source failed between two requests.
            Ok(Err(error @ StartError::NoTip)) => {
                tracing::warn!(%error, retry = ?pause, "the Lightning node waits for its chain source");
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "the Lightning node is off until the next start");
                return;
            }
            // The panic is logged.
            Err(_) => return,
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(MAX_PAUSE);
    };
    *inner.node.write() = Arc::clone(&node);
    if stop.is_cancelled() || !start(&node, &stop).await {
        return;
    }
    inner.started.store(true, Ordering::Release);
    runtime.spawn(stop.clone().run_until_cancelled_owned(connections::keep(node, provider)));
    if let Some(chain) = options.chain_access.clone() {
        let context = Arc::clone(&inner);
        let note = move |rate| context.fee_rate.set(rate, context.now());
        runtime.spawn(stop.clone().run_until_cancelled_owned(fee_rate::follow(Arc::clone(&chain), note)));
        runtime.spawn(stop.clone().run_until_cancelled_owned(funding::publish(Arc::clone(&inner), chain)));
    }
    runtime.spawn(stop.clone().run_until_cancelled_owned(overview::watch(Arc::clone(&inner))));
    runtime.spawn(payment_cleanup::run(Arc::clone(&inner), stop.clone()));
    events::run(inner, notifications, stop).await;
}

/// Opens the store and builds a draft that shows its content.
async fn open(
    options: &Arc<Options>,
    clock: Arc<dyn Clock>,
    guard: PanicGuard,
    runtime: &tokio::runtime::Handle,
) -> Result<NodeContext, StartError> {
    let broke = |error| StartError::Threads(std::io::Error::other(error));
    let opening = Arc::clone(options);
    let opened = runtime.spawn_blocking(move || open_store(&opening)).await.map_err(broke)?;
    let store = Arc::new(opened?);
    let generation = Generation::of(Arc::clone(&store), options.settings.clone());
    let drafted = match generation.check().await {
        Ok(()) => {
            let (options, stored, building) = (Arc::clone(options), Arc::clone(&store), runtime.clone());
            runtime.spawn_blocking(move || draft(&options, stored, &building)).await.map_err(broke).flatten()
        }
        Err(error) => Err(error),
    };
    let (node, closes_alone) = drafted.inspect_err(|_| store.close())?;
    generation.begin().await.inspect_err(|_| store.close())?;
    Ok(NodeContext {
        node: RwLock::new(Arc::new(node)),
        guard,
        store,
        generation,
        clock,
        network: options.network,
        max_fee_percent: options.max_fee_percent,
        max_opening_fee_percent: options.max_opening_fee_percent,
        provider: options.provider.clone(),
        closes_alone,
        building: Mutex::new(()),
        spending: Mutex::new(()),
        root: options.root()?,
        fee_rate: FeeRateEstimate::default(),
        to_publish: Notify::new(),
        started: AtomicBool::new(false),
        reserving: Mutex::new(()),
        outcomes: watch::Sender::new(0),
    })
}

/// Opens the store and removes the records of payments that were never sent. Blocks.
fn open_store(options: &Options) -> Result<Store, StartError> {
    let store = Store::open(&options.folder)?;
    check_owner(options, &store)?;
    let removed = store.remove_unsent_payments().map_err(StartError::storage)?;
    if removed > 0 {
        tracing::info!(removed, "payments that were recorded and never sent");
    }
    Ok(store)
}

#[async_trait]
impl Lightning for EmbeddedLightning {
    async fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError> {
        self.check_running()?;
        let wanted = wanted.clone();
        let making = blocking(&self.inner, &self.handle, move |inner| inner.make_invoice(&wanted));
        tokio::time::timeout(PROVIDER_TIME, making)
            .await
            .unwrap_or_else(|_| Err(LightningError::Unknown("the liquidity provider is slow".to_owned())))
    }

    async fn look_up_invoice(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError> {
        blocking(&self.inner, &self.handle, move |inner| inner.look_up_invoice(hash)).await
    }

    async fn prepare_payment(&self, invoice: &Invoice, until: u64) -> Result<SignedPayment, LightningError> {
        let ready = async {
            while !(self.inner.is_running() && self.has_usable_channel()) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(CHANNEL_TIMEOUT, ready).await.map_err(|_| LightningError::NotSent)?;
        prepare(invoice, until, self.inner.max_fee_percent)
    }

    async fn pay(
        &self,
        invoice: &Invoice,
        payment: &SignedPayment,
        again: bool,
    ) -> Result<CompletedPayment, LightningError> {
        let hash = invoice.payment_hash();
        let mut outcomes = self.inner.outcomes.subscribe();
        if !self.inner.is_running() {
            let known = blocking(&self.inner, &self.handle, move |inner| inner.look_up_payment(hash)).await?;
            return Err(match known {
                OutgoingPaymentStatus::Unknown(_) if !again => LightningError::NotSent,
                _ => LightningError::Unknown("the Lightning node does not run".to_owned()),
            });
        }
        let (invoice, payment) = (invoice.clone(), payment.clone());
        let sent = blocking(&self.inner, &self.handle, move |inner| inner.send(&invoice, &payment, again)).await?;
        if let Sent::Ended(paid) = sent {
            return Ok(paid);
        }
        let ended = async {
            loop {
                outcomes.mark_unchanged();
                if let Some(outcome) = self.inner.outcome(hash) {
                    return outcome;
                }
                let stopping = || LightningError::Unknown("the Lightning node stops".to_owned());
                tokio::select! {
                    () = self.stop.cancelled() => return Err(stopping()),
                    changed = outcomes.changed() => changed.map_err(|_| stopping())?,
                }
            }
        };
        tokio::time::timeout(PAYMENT_TIME, ended)
            .await
            .unwrap_or_else(|_| Err(LightningError::Unknown("the payment is still under way".to_owned())))
    }

    async fn look_up_payment(
        &self,
        hash: PaymentHash,
        _asked: Option<&SignedPayment>,
    ) -> Result<OutgoingPaymentStatus, LightningError> {
        blocking(&self.inner, &self.handle, move |inner| inner.look_up_payment(hash)).await
    }

    async fn info(&self) -> Result<LightningInfo, LightningError> {
        self.check_running()?;
        Ok(LightningInfo {
            alias: None,
            network: Some(self.inner.network),
            balance: Some(sendable(&self.inner.node().list_channels())),
            methods: ["make_invoice", "lookup_invoice", "pay_invoice", "get_balance", "get_info"]
                .map(str::to_owned)
                .into(),
        })
    }

    fn status(&self) -> LightningStatus {
        LightningStatus { connected: self.inner.is_running(), sends_notifications: true }
    }
}
