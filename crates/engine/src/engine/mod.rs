//! The engine: runs operations.
//!
//! ```text
//! start (starting) ─┐
//! inbox ────────────┼─▶ steps: one worker at a time per operation ─▶ store.commit ─▶ after it: index, timers,
//! timers ───────────┘                                                waiters, outgoing
//! ```

mod answering;
mod clock_changes;
mod committing;
mod counts;
mod damage;
mod delivering;
mod feed;
mod field_checks;
mod handshakes;
mod housekeeping;
mod inbox;
mod index;
mod outgoing;
mod parties;
mod paying;
mod reading;
mod scan_limiter;
mod starting;
mod steps;
mod subscribing;
mod timers;
mod waiters;
mod wallet;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::PublicKey;
use usher_protocol::subkey::SubkeyProof;

pub use self::answering::{IdempotentRequest, RenderedResponse};
use self::counts::Counts;
pub use self::counts::{EngineMetrics, OperationMetrics, OperationOutcome};
use self::damage::Damage;
use self::delivering::Deliveries;
pub use self::delivering::RetryError;
use self::feed::Feed;
pub use self::feed::{Live, LiveEvent, LiveEvents};
use self::handshakes::Reusable;
pub use self::handshakes::{CloseHandshakeError, HandshakePage, ReusableHandshake};
use self::index::Index;
use self::outgoing::Outgoing;
pub use self::paying::{
    PayInvoiceRequest, PaymentRules, RecurringPaymentRequest, RequestInvoice, SinglePaymentRequest,
};
use self::reading::Finished;
pub use self::scan_limiter::ScanLimit;
use self::scan_limiter::ScanLimiter;
use self::steps::Workers;
pub use self::subscribing::{SubscriptionError, SubscriptionFilter, SubscriptionPage};
use self::timers::{Alarm, Due, Timers};
use self::waiters::Waiters;
pub use self::wallet::LightningBackend;
use self::wallet::Wallet;
use crate::operations::{self, Input};
use crate::ports::{
    AnswerStore, Clock, DeliveryStore, Inbound, LightningNotices, Messenger, OperationKind, Randomness, Receiver,
    Store, StoreError, Table,
};
use crate::{StreamId, UnixMillis};
pub use field_checks::FieldValues;

/// How the engine behaves.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The service's main key, as handshake URLs name it.
    pub main_key: PublicKey,
    /// The service's own key when it runs on a subkey, as handshake URLs name it.
    pub subkey: Option<PublicKey>,
    /// The service's own proof when it runs on a subkey; it goes into challenges.
    pub subkey_proof: Option<SubkeyProof>,
    /// Scheme of handshake URLs (`nostr.url_scheme`).
    pub url_scheme: String,
    /// How long a single-use handshake URL lives (`handshake.ttl_seconds`).
    pub handshake_ttl: Duration,
    /// How long an authentication challenge may be answered (`auth.challenge_ttl_seconds`).
    pub challenge_ttl: Duration,
    /// Most streams of operations that may be open at a time (`limits.max_open_streams`); the reserved stream is not counted.
    pub max_open_streams: usize,
    /// How long finished streams stay readable (`streams.retention_days`).
    pub retention: Duration,
    /// What payments and subscriptions go by.
    pub payments: PaymentRules,
}

/// Asks for a handshake URL.
#[derive(Clone, Debug, Default)]
pub struct KeyHandshakeRequest {
    /// Makes the URL reusable; 1 to 128 visible ASCII characters.
    pub static_token: Option<String>,
    /// Handshake only: the wallet is told that no authentication challenge follows. Not said means that it is not so,
    /// or, for a static token that was opened before, that it is as it was.
    pub no_request: Option<bool>,
}

/// A handshake that has started.
#[derive(Clone, Debug)]
pub struct KeyHandshakeStarted {
    /// Its stream.
    pub stream_id: StreamId,
    /// The address to show to the user. Whoever has it can answer in the user's place.
    pub url: String,
}

/// Asks a user to prove that they hold a key.
#[derive(Clone, Debug)]
pub struct AuthenticateKey {
    /// The key.
    pub main_key: PublicKey,
    /// Keys that may answer for it without a proof; at most [`Engine::MAX_SUBKEYS`].
    pub subkeys: Vec<PublicKey>,
}

/// A field of a request that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// JSON Pointer (RFC 6901) to the field.
    pub pointer: &'static str,
    /// What is wrong with it.
    pub detail: String,
}

impl StartError {
    fn invalid(pointer: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![InvalidField { pointer, detail: detail.into() }])
    }
}

/// Why an operation did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Fields are wrong: all of those that are.
    #[error("some fields are wrong")]
    Invalid(Vec<InvalidField>),
    /// It needs a Lightning wallet, and none is configured.
    #[error("no Lightning wallet is configured")]
    NoLightning,
    /// The call, which was to be done once, was answered before: [`Engine::idempotency_record`] has the answer.
    #[error("the call was answered before")]
    Repeated,
    /// `limits.max_open_streams` are open already.
    #[error("too many streams are open")]
    TooManyOpen,
    /// Twice as many as `limits.max_open_streams` are open, or are payments that have ended within the last day.
    #[error("too many payments have ended within the last day")]
    TooManyEnded,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why events could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// There is no such stream, or it was removed after retention.
    #[error("no such stream")]
    NotFound,
    /// Events from the one asked for on were removed after their retention.
    #[error("events before {first} of the stream were removed")]
    Removed {
        /// The index of the first that is left.
        first: u64,
    },
    /// The event asked for is damaged; those before and after it can be read.
    #[error("event {index} of the stream is damaged")]
    Damaged {
        /// Its index.
        index: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the engine is given to run with.
pub struct EngineParts {
    /// Where operations are kept.
    pub store: Arc<dyn Store>,
    /// Where answers to calls are kept.
    pub answers: Arc<dyn AnswerStore>,
    /// Where deliveries to the webhook are kept.
    pub deliveries: Arc<dyn DeliveryStore>,
    /// The app's webhook, if it has one.
    pub receiver: Option<Arc<dyn Receiver>>,
    /// The way to wallets.
    pub messenger: Arc<dyn Messenger>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where tokens, challenges and stream ids come from.
    pub randomness: Arc<dyn Randomness>,
    /// The way from wallets.
    pub inbox: mpsc::Receiver<Inbound>,
    /// Our own Lightning wallet, if one is configured.
    pub lightning: Option<LightningBackend>,
    /// What our own wallet tells by itself.
    pub notices: Option<LightningNotices>,
}

/// What the start has found in the store.
struct Loaded {
    /// Operations that may have waited for our own wallet.
    waited: Vec<StreamId>,
    /// When an open operation was committed last.
    latest: UnixMillis,
}

/// Runs operations.
pub struct Engine {
    options: EngineOptions,
    store: Arc<dyn Store>,
    messenger: Arc<dyn Messenger>,
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
    index: Index,
    timers: Timers,
    waiters: Waiters,
    scans: ScanLimiter,
    reusable: Reusable,
    feed: Feed,
    finished: Finished,
    wallet: Wallet,
    outgoing: Outgoing,
    workers: Workers,
    answers: Arc<dyn AnswerStore>,
    deliveries: Deliveries,
    tasks: TaskTracker,
    counts: Counts,
    damage: Damage,
    stop: CancellationToken,
    /// Cancelled when, after `stop`, the inbox is empty: the workers end when their queues are.
    drained: CancellationToken,
    /// Cancelled when a vital task has panicked.
    failed: CancellationToken,
    /// From when on what has had its time may be removed, on the monotonic clock.
    removes_from: Mutex<Duration>,
    /// Held by who moves stored times after the clock was set back.
    renewing: tokio::sync::Mutex<()>,
}

impl Engine {
    /// Most subkeys one conversation may have (wallet-protocol.md section 6).
    pub const MAX_SUBKEYS: usize = operations::MAX_SUBKEYS;

    /// Rebuilds the index from the store and starts the engine's tasks on `tasks`; they end when `stop` is cancelled.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn start(
        options: EngineOptions,
        parts: EngineParts,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let (workers, jobs) = Workers::new();
        let (outgoing, mail) = Outgoing::new();
        let (wallet, asked) = Wallet::new(parts.lightning);
        let (deliveries, due) = Deliveries::new(parts.deliveries, parts.receiver);
        let engine = Arc::new(Self {
            options,
            store: parts.store,
            messenger: parts.messenger,
            clock: parts.clock,
            randomness: parts.randomness,
            index: Index::default(),
            timers: Timers::default(),
            waiters: Waiters::default(),
            scans: ScanLimiter::default(),
            reusable: Reusable::default(),
            feed: Feed::default(),
            finished: Finished::default(),
            wallet,
            outgoing,
            workers,
            answers: parts.answers,
            deliveries,
            tasks: tasks.clone(),
            counts: Counts::default(),
            damage: Damage::default(),
            stop,
            drained: CancellationToken::new(),
            failed: CancellationToken::new(),
            removes_from: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
        });
        let Loaded { waited: resumed, latest } = engine.load().await?;
        engine.load_deliveries().await?;
        for jobs in jobs {
            engine.spawn_vital(Arc::clone(&engine).work(jobs));
        }
        engine.spawn_vital(Arc::clone(&engine).deliver(mail));
        engine.spawn_vital(Arc::clone(&engine).deliver_to_app(due));
        engine.spawn_vital(Arc::clone(&engine).keep_deliveries_loaded());
        engine.spawn_vital(Arc::clone(&engine).take_in(parts.inbox));
        engine.spawn_vital(Arc::clone(&engine).draw_scans());
        engine.spawn_vital(Arc::clone(&engine).pace_look_ups());
        engine.spawn_vital(Arc::clone(&engine).ask_wallet(asked));
        engine.spawn_vital(Arc::clone(&engine).resume(resumed));
        engine.spawn_vital(Arc::clone(&engine).check_operations());
        if let Some(notices) = parts.notices {
            engine.spawn_vital(Arc::clone(&engine).hear_wallet(notices));
        }
        engine.check_clock(latest).await?;
        engine.spawn_vital(Arc::clone(&engine).keep_house());
        Ok(engine)
    }

    /// Rebuilds the index and the timers.
    async fn load(&self) -> Result<Loaded, StoreError> {
        const PAGE: usize = 10_000;
        let now = self.clock.now();
        let mut after = None;
        let mut sending = 0;
        let (mut waited, mut latest) = (Vec::new(), UnixMillis::default());
        loop {
            let open = self.store.open_operations(after, PAGE).await?;
            for operation in &open {
                if operation.damaged {
                    self.set_aside(Table::Operations, operation.id);
                    self.index.load(operation, None);
                    if let Some(hash) = operation.watched {
                        self.watch_again(operation.id, hash, operation.done, now);
                    }
                    continue;
                }
                let resend_at = operation.has_outbox.then(|| now.plus(outgoing::after_restart(sending)));
                self.index.load(operation, resend_at);
                latest = latest.max(operation.at);
                if !operation.done {
                    self.counts.loaded(operation.kind);
                }
                if let Some(at) = operation.wake_at {
                    self.timers.set(at, operation.id, Alarm::Wake);
                } else if operation.kind == OperationKind::KeyHandshake {
                    self.reusable.add(operation.id);
                }
                let pays = matches!(operation.kind, OperationKind::SinglePayment | OperationKind::OwnPayment);
                if pays && !operation.done {
                    waited.push(operation.id);
                }
                if operation.kind == OperationKind::RecurringRequest {
                    self.load_parties(operation.id).await?;
                }
                if let Some(hash) = operation.watched {
                    self.watch_again(operation.id, hash, operation.done, now);
                }
                if let Some(at) = resend_at {
                    sending += 1;
                    self.timers.set(at, operation.id, Alarm::Resend);
                }
            }
            match open.last() {
                Some(last) if open.len() == PAGE => after = Some(last.id),
                _ => return Ok(Loaded { waited, latest }),
            }
        }
    }

    async fn load_parties(&self, id: StreamId) -> Result<(), StoreError> {
        if let Some((_, operation)) = self.readable(id).await?
            && let Some(keys) = operation.may_close_early()
        {
            self.index.parties.set(id, keys);
        }
        Ok(())
    }

    /// Hands out [`Input::Resumed`] to operations whose reply from the Lightning backend was lost with the last process, and
    /// only then watches the timers: an operation that its timer had woken first would take what it has just asked for as
    /// what was lost.
    async fn resume(self: Arc<Self>, waited: Vec<StreamId>) {
        for id in waited {
            tokio::select! {
                () = self.workers.input(id, Input::Resumed) => {}
                () = self.stop.cancelled() => return,
            }
        }
        self.watch_timers().await;
    }

    /// Runs a task without which the engine is not whole.
    fn spawn_vital(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn(task);
        let failed = self.failed.clone();
        self.tasks.spawn(async move {
            if task.await.is_err_and(|end| end.is_panic()) {
                failed.cancel();
            }
        });
    }

    /// Returns when a task without which the engine is not whole has panicked: the process should end and be started
    /// anew, which loses nothing; going on would leave operations without an end.
    pub async fn failed(&self) {
        self.failed.cancelled().await;
    }

    /// How many operations are open, the reserved stream among them.
    pub fn open_streams(&self) -> usize {
        self.index.len()
    }

    /// What it has counted.
    pub fn metrics(&self) -> EngineMetrics {
        self.counts.values(self.scans.counts())
    }

    /// Hands what is due to whom it concerns.
    async fn watch_timers(self: Arc<Self>) {
        loop {
            let due = tokio::select! {
                due = self.timers.next(&*self.clock) => due,
                () = self.stop.cancelled() => return,
            };
            let alarms = match due {
                Due::Alarms(alarms) => alarms,
                Due::SetBack(by) => {
                    self.clock_set_back(by);
                    continue;
                }
                Due::SetForward(by) => {
                    self.clock_set_forward(by);
                    continue;
                }
            };
            for (id, alarm) in alarms {
                match alarm {
                    Alarm::Wake => self.workers.wake(id).await,
                    Alarm::Resend => self.outgoing.resend(id).await,
                    Alarm::LookUp => self.look_up_due(id),
                    Alarm::Deliver => self.deliveries.due(id),
                }
            }
        }
    }
}
