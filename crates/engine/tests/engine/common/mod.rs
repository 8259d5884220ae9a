//! An engine on a real store, with a clock turned by hand and a messenger that records.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod paying;
mod reusable_logins;

pub use paying::*;
pub use reusable_logins::*;

use std::path::Path;
pub use std::sync::Arc;
pub use std::time::Duration;

pub use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
pub use usher_engine::access::Scope;
pub use usher_engine::operations::{LoginState, SubscriptionState};
pub use usher_engine::ports::*;
pub use usher_engine::request_body::RequestedCurrency;
pub use usher_engine::*;
pub use usher_protocol::message::{
    AuthResponse, AuthStatus, CloseSubscription, KeyHandshake, PaymentStatus, RecurringStatus, WalletMessage,
};
pub use usher_protocol::{EventId, Keys, PublicKey};
use usher_store::SqliteStore;
use usher_testing::ports::{
    FakeApp, FakeExchangeRates, FaultyStore, ManualClock, RecordingMessenger, SeededRandomness, in_time,
};

pub use usher_testing::ports::{FakeLightning, FakeTicketWallet, api_key, user};
pub use usher_testing::until;

pub const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

/// The environment of an engine, which survives its restart. A test can make its store fail.
#[derive(Clone)]
pub struct World {
    pub store: Arc<SqliteStore>,
    /// The same, as the engine sees it.
    pub faults: Arc<FaultyStore<SqliteStore>>,
    pub options: EngineOptions,
    pub wallet: Arc<FakeLightning>,
    pub tickets: Arc<FakeTicketWallet>,
    pub rates: Arc<FakeExchangeRates>,
    pub app: Arc<FakeApp>,
    pub parts: &'static [Part],
    pub starts: u64,
    pub dir: Arc<TempDir>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Lightning,
    Tickets,
    Rates,
    Webhook,
}

impl World {
    pub fn new(parts: &'static [Part], options: EngineOptions) -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let store = open(dir.path());
        Self {
            faults: FaultyStore::on(store.clone()),
            store,
            options,
            wallet: Arc::default(),
            tickets: Arc::default(),
            rates: Arc::new(FakeExchangeRates::of(&["EUR", "JPY"])),
            app: Arc::default(),
            parts,
            starts: 0,
            dir,
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub async fn start(mut self, now: UnixMillis) -> Running {
        self.starts += 1;
        let clock = Arc::new(ManualClock::at(now));
        let (messenger, messages) = RecordingMessenger::new(&["wss://relay.example"]);
        let (inbox, inbound) = mpsc::channel(16);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let has = |part: Part| self.parts.contains(&part).then_some(());
        let parts = EngineParts {
            store: self.faults.clone(),
            idempotency: self.store.clone(),
            deliveries: self.faults.clone(),
            webhook: has(Part::Webhook).map(|()| self.app.clone() as Arc<dyn WebhookSender>),
            messenger: Arc::new(messenger),
            clock: clock.clone(),
            randomness: Arc::new(SeededRandomness::new(self.starts)),
            inbox: inbound,
            lightning: has(Part::Lightning).map(|()| LightningBackend {
                adapter: self.wallet.clone(),
                name: "fake",
                node: None,
            }),
            lightning_notifications: has(Part::Lightning).map(|()| self.wallet.begin(clock.clone())),
            tickets: has(Part::Tickets).map(|()| self.tickets.clone() as Arc<dyn TicketWallet>),
            payees: None,
            age_verifier: None,
            remote_signer: None,
            rates: has(Part::Rates).map(|()| self.rates.clone() as Arc<dyn ExchangeRates>),
        };
        let engine = Engine::start(self.options.clone(), parts, &tasks, stop.clone()).await.unwrap();
        Running { engine, clock, inbox, messages, tasks, stop, world: self }
    }
}

pub struct Running {
    pub engine: Arc<Engine>,
    pub clock: Arc<ManualClock>,
    pub inbox: mpsc::Sender<Inbound>,
    pub messages: mpsc::UnboundedReceiver<(OutgoingMessage, Vec<EventId>)>,
    tasks: TaskTracker,
    stop: CancellationToken,
    world: World,
}

impl std::ops::Deref for Running {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

pub fn options() -> EngineOptions {
    usher_testing::ports::options(user(200).public_key())
}

fn open(dir: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(&dir.join("usher.sqlite"), usher_store::SqliteOptions::default()).unwrap())
}

impl Running {
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(parts: &'static [Part]) -> Self {
        World::new(parts, options()).start(NOW).await
    }

    pub async fn with_options(options: EngineOptions) -> Self {
        World::new(&[], options).start(NOW).await
    }

    pub async fn paying() -> (Self, Arc<FakeLightning>) {
        Self::paying_with(options()).await
    }

    pub async fn paying_with(options: EngineOptions) -> (Self, Arc<FakeLightning>) {
        let usher = World::new(&[Part::Lightning], options).start(NOW).await;
        let wallet = usher.wallet.clone();
        (usher, wallet)
    }

    /// The process ends, whatever is under way.
    pub async fn end(self) -> World {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let Self { engine, inbox, messages, world, .. } = self;
        drop((engine, inbox, messages));
        world.store.close().await;
        let World { store, faults, options, wallet, tickets, rates, app, parts, starts, dir } = world;
        drop((store, faults));
        let store = open(dir.path());
        let faults = FaultyStore::on(store.clone());
        World { store, faults, options, wallet, tickets, rates, app, parts, starts, dir }
    }

    /// It ends, and another one begins after some time.
    pub async fn restart(self, after: Duration) -> Self {
        let now = self.clock.now().plus(after);
        self.end().await.start(now).await
    }

    /// Another one on the same store, which does not know of this one.
    pub async fn beside(&self) -> Self {
        let world = World { faults: FaultyStore::on(self.store.clone()), ..self.world.clone() };
        world.start(self.clock.now()).await
    }

    pub async fn handshake(&self) -> KeyHandshakeStarted {
        self.engine.handshakes().start(&Requester::Service, KeyHandshakeRequest::default(), None).await.unwrap()
    }

    pub async fn reusable_handshake(&self, token: &str) -> StreamId {
        self.engine.handshakes().start(&Requester::Service, reusable(token), None).await.unwrap().stream_id
    }

    pub async fn authenticate(&self, n: u8) -> StreamId {
        let request = AuthenticateKey { main_key: user(n).public_key(), subkeys: Vec::new() };
        self.engine.logins().authenticate(&Requester::Service, request, None).await.unwrap()
    }

    /// A payment that ends in so many seconds, once its invoice is made: the wallet makes invoices side by side.
    pub async fn payment_for(&self, secs: u64) -> StreamId {
        let (invoices, expires_at) = (self.engine.watched_invoices() + 1, Some(self.clock.now().secs() + secs));
        let stream = self.request_payment(SinglePaymentRequest { expires_at, ..payment(None, secs) }).await;
        until("the invoice is made", async || self.engine.watched_invoices() == invoices).await;
        stream
    }

    pub async fn request_payment(&self, request: SinglePaymentRequest) -> StreamId {
        self.engine.payments().request(&Requester::Service, request, None).await.unwrap().stream_id
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

    pub async fn read(&self, stream: StreamId, after: u64) -> EventPage {
        self.engine.events().read(ShownStream::to_service(stream), after, 10_000).await.unwrap()
    }

    /// The page from `after` on as soon as there is something new, in real time.
    pub async fn page(&self, stream: StreamId, after: u64) -> EventPage {
        let page = async || {
            let page = self.read(stream, after).await;
            (!page.events.is_empty() || page.done).then_some(page)
        };
        until("an event", page).await
    }

    /// All events of a stream, as soon as there are so many.
    pub async fn events(&self, stream: StreamId, count: usize) -> Vec<Event> {
        let events = async || {
            let page = self.read(stream, 0).await;
            (page.events.len() >= count).then_some(page.events)
        };
        until("events", events).await
    }

    /// Waits in real time until it holds, while the clock advances by `step` now and then.
    pub async fn until(&self, step: Duration, what: &str, holds: impl AsyncFn() -> bool) {
        self.passing(step, until(what, holds)).await;
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

pub fn reusable(token: &str) -> KeyHandshakeRequest {
    KeyHandshakeRequest { static_token: Some(token.to_owned()), ..KeyHandshakeRequest::default() }
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
