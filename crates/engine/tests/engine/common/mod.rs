//! An engine on a real store, with a clock turned by hand and a messenger that records.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

pub mod paying;
pub mod reusable_logins;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock as _, DeliveryStore, ExchangeRates, Inbound, OutgoingMessage, Store, TicketWallet, Via, WebhookSender,
};
use usher_engine::testing::{
    FakeExchangeRates, FaultyStore, ManualClock, RecordingMessenger, SeededRandomness, in_time,
};
use usher_engine::{Engine, EngineOptions, EngineParts, Event, EventPage, LightningBackend, StreamId, UnixMillis};
use usher_protocol::message::{AuthResponse, AuthStatus, KeyHandshake, WalletMessage};
use usher_protocol::{EventId, Keys};
use usher_store::SqliteStore;

pub use usher_engine::testing::{FakeLightning, FakeTicketWallet, user};

pub const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

pub struct Running {
    pub engine: Arc<Engine>,
    pub clock: Arc<ManualClock>,
    pub inbox: mpsc::Sender<Inbound>,
    pub messages: mpsc::UnboundedReceiver<(OutgoingMessage, Vec<EventId>)>,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// Where its store is, if nothing else needs that.
    dir: Option<TempDir>,
}

pub fn options() -> EngineOptions {
    usher_engine::testing::options(user(200).public_key())
}

pub fn open(dir: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(&dir.join("usher.sqlite"), usher_store::SqliteOptions::default()).unwrap())
}

impl Running {
    /// On a store of its own.
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let usher = Self::start(open(dir.path())).await;
        Self { dir: Some(dir), ..usher }
    }

    /// The same with a Lightning backend.
    pub async fn paying() -> (Self, Arc<FakeLightning>) {
        let (dir, wallet) = (tempfile::tempdir().unwrap(), Arc::new(FakeLightning::default()));
        let usher = Self::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
        (Self { dir: Some(dir), ..usher }, wallet)
    }

    /// On a store of its own that may fail.
    pub async fn faulty() -> (Self, Arc<FaultyStore<SqliteStore>>) {
        let dir = tempfile::tempdir().unwrap();
        let sqlite = open(dir.path());
        let store = FaultyStore::on(sqlite.clone());
        let usher = Self::start_with(store.clone(), sqlite, None, options(), NOW, 1).await;
        (Self { dir: Some(dir), ..usher }, store)
    }

    /// The same with a Lightning backend.
    pub async fn faulty_paying() -> (Self, Arc<FaultyStore<SqliteStore>>, Arc<FakeLightning>) {
        let (dir, wallet) = (tempfile::tempdir().unwrap(), Arc::new(FakeLightning::default()));
        let sqlite = open(dir.path());
        let store = FaultyStore::on(sqlite.clone());
        let usher = Self::start_paying_on(store.clone(), sqlite, &wallet).await;
        (Self { dir: Some(dir), ..usher }, store, wallet)
    }

    pub async fn start(store: Arc<SqliteStore>) -> Self {
        Self::start_at(store, options(), NOW, 1).await
    }

    pub async fn start_at(store: Arc<SqliteStore>, options: EngineOptions, now: UnixMillis, seed: u64) -> Self {
        Self::start_with(store.clone(), store, None, options, now, seed).await
    }

    /// With a store of operations that may fail, and a webhook.
    pub async fn start_with(
        store: Arc<dyn Store>,
        others: Arc<SqliteStore>,
        webhook: Option<Arc<dyn WebhookSender>>,
        options: EngineOptions,
        now: UnixMillis,
        seed: u64,
    ) -> Self {
        Self::run(store, others.clone(), others, webhook, None, None, None, options, now, seed).await
    }

    /// With a store of deliveries that may fail, and a webhook.
    pub async fn start_delivering(
        store: Arc<SqliteStore>,
        deliveries: Arc<dyn DeliveryStore>,
        webhook: Arc<dyn WebhookSender>,
    ) -> Self {
        Self::run(store.clone(), store, deliveries, Some(webhook), None, None, None, options(), NOW, 1).await
    }

    /// With a Lightning wallet, whose time is the engine's.
    pub async fn start_paying(
        store: Arc<SqliteStore>,
        wallet: &Arc<FakeLightning>,
        options: EngineOptions,
        now: UnixMillis,
        seed: u64,
    ) -> Self {
        Self::run(store.clone(), store.clone(), store, None, Some(wallet), None, None, options, now, seed).await
    }

    /// The same with exchange rates.
    pub async fn start_priced(
        store: Arc<SqliteStore>,
        wallet: &Arc<FakeLightning>,
        rates: &Arc<FakeExchangeRates>,
        now: UnixMillis,
        seed: u64,
    ) -> Self {
        Self::run(store.clone(), store.clone(), store, None, Some(wallet), None, Some(rates), options(), now, seed)
            .await
    }

    /// With a store of operations that may fail, and a Lightning wallet.
    pub async fn start_paying_on(store: Arc<dyn Store>, others: Arc<SqliteStore>, wallet: &Arc<FakeLightning>) -> Self {
        Self::run(store, others.clone(), others, None, Some(wallet), None, None, options(), NOW, 1).await
    }

    /// With a ticket wallet, and perhaps a Lightning wallet.
    pub async fn start_ticketing(
        store: Arc<SqliteStore>,
        tickets: &Arc<FakeTicketWallet>,
        wallet: Option<&Arc<FakeLightning>>,
        now: UnixMillis,
        seed: u64,
    ) -> Self {
        Self::run(store.clone(), store.clone(), store, None, wallet, Some(tickets), None, options(), now, seed).await
    }

    #[allow(clippy::too_many_arguments)]
    async fn run(
        store: Arc<dyn Store>,
        others: Arc<SqliteStore>,
        deliveries: Arc<dyn DeliveryStore>,
        webhook: Option<Arc<dyn WebhookSender>>,
        wallet: Option<&Arc<FakeLightning>>,
        tickets: Option<&Arc<FakeTicketWallet>>,
        rates: Option<&Arc<FakeExchangeRates>>,
        options: EngineOptions,
        now: UnixMillis,
        seed: u64,
    ) -> Self {
        let clock = Arc::new(ManualClock::at(now));
        let (messenger, messages) = RecordingMessenger::new(&["wss://relay.example"]);
        let (inbox, inbound) = mpsc::channel(16);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let parts = EngineParts {
            store,
            idempotency: others,
            deliveries,
            webhook,
            messenger: Arc::new(messenger),
            clock: clock.clone(),
            randomness: Arc::new(SeededRandomness::new(seed)),
            inbox: inbound,
            lightning: wallet.map(|wallet| LightningBackend { adapter: wallet.clone(), name: "fake", node: None }),
            lightning_notifications: wallet.map(|wallet| wallet.begin(clock.clone())),
            tickets: tickets.map(|tickets| tickets.clone() as Arc<dyn TicketWallet>),
            payees: None,
            age_verifier: None,
            remote_signer: None,
            rates: rates.map(|rates| rates.clone() as Arc<dyn ExchangeRates>),
        };
        let engine = Engine::start(options, parts, &tasks, stop.clone()).await.unwrap();
        Self { engine, clock, inbox, messages, tasks, stop, dir: None }
    }

    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub async fn receive(&self, n: u8, author: &Keys, message: WalletMessage) {
        let inbound = Inbound {
            event_id: EventId::from_byte_array([n; 32]),
            author: author.public_key(),
            created_at: self.clock.now().secs(),
            message,
            via: Via::default(),
        };
        self.inbox.send(inbound).await.unwrap();
    }

    /// The page from `after` on as soon as there is something new, in real time.
    pub async fn page(&self, stream: StreamId, after: u64) -> EventPage {
        let reading = async {
            loop {
                let page = self.engine.events().read(stream, after, 1000).await.unwrap();
                if !page.events.is_empty() || page.done {
                    return page;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        in_time("an event", reading).await
    }

    /// All events of a stream, as soon as there are so many.
    pub async fn events(&self, stream: StreamId, count: usize) -> Vec<Event> {
        let reading = async {
            loop {
                let page = self.engine.events().read(stream, 0, 1000).await.unwrap();
                if page.events.len() >= count {
                    return page.events;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        in_time("events", reading).await
    }

    /// Waits in real time until it holds, while the clock advances by `step` now and then.
    pub async fn until(&self, step: Duration, what: &str, holds: impl AsyncFn() -> bool) {
        let waiting = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
        };
        in_time(what, self.passing(step, waiting)).await;
    }

    /// What this gives, while the clock advances by `step` now and then.
    pub async fn passing<T>(&self, step: Duration, awaited: impl Future<Output = T>) -> T {
        let passing = async {
            loop {
                tokio::time::sleep(Duration::from_millis(3)).await;
                self.clock.turn(step);
            }
        };
        tokio::select! {
            found = awaited => found,
            () = passing => unreachable!(),
        }
    }

    pub async fn next_message(&mut self) -> (OutgoingMessage, Vec<EventId>) {
        in_time("a message", self.messages.recv()).await.unwrap()
    }
}

pub fn token(url: &str) -> String {
    url.split("token=").nth(1).unwrap().split('&').next().unwrap().to_owned()
}

pub fn challenge(message: &OutgoingMessage) -> String {
    let content: serde_json::Value = serde_json::from_str(&message.content).unwrap();
    content["challenge"].as_str().unwrap().to_owned()
}

pub fn handshake(token: &str, relays: &[&str]) -> WalletMessage {
    let preferred_relays = relays.iter().map(|relay| (*relay).to_owned()).collect();
    WalletMessage::KeyHandshake(KeyHandshake { token: token.to_owned(), client_info: None, preferred_relays })
}

pub fn approval(challenge: &str) -> WalletMessage {
    WalletMessage::AuthResponse(AuthResponse {
        challenge: challenge.to_owned(),
        subkey_proof: None,
        status: AuthStatus::Approved { granted_permissions: Vec::new(), session_token: None },
    })
}

pub fn data_of(event: &Event) -> serde_json::Value {
    serde_json::from_str(&event.data).unwrap()
}

pub fn data(page: &EventPage, n: usize) -> serde_json::Value {
    data_of(&page.events[n])
}

/// Waits in real time for something that tasks of the engine do, turning no clock.
pub async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
