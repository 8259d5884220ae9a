//! The service under test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_api::{
    ApiParts, ApiState, ApiTokens, DocsAccess, Family, Limits, Readiness, RelaysReadiness, ServeOptions, ServiceStatus,
    WalletReadiness,
};
use usher_engine::ports::{
    Clock, DeliveryStore, Inbound, Messenger, OpenIdControl, OsRandomness, OutgoingMessage, SystemClock, Via,
    WebhookSender,
};
use usher_engine::{
    Engine, EngineOptions, EngineParts, LightningBackend, PageRules, PaymentRules, SpendingRules, UnixMillis,
    VerificationRules,
};
use usher_protocol::bolt11::Network;
use usher_protocol::jwt::JwtIssuer;
use usher_protocol::message::{AuthResponse, AuthStatus, KeyHandshake, WalletMessage};
use usher_protocol::{EventId, Keys, PublicKey};
use usher_store::{SqliteOptions, SqliteStore};

use crate::fake_ports::World;
use crate::faulty_store::FaultyStore;
use crate::ticket_wallet::ScriptedTicketWallet;

pub const TOKEN: &str = "t0ken-of-the-tests";

/// Longer than anything here takes on a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What the service would send to wallets.
#[derive(Default)]
pub struct Post(Mutex<Vec<OutgoingMessage>>, AtomicU64);

impl Messenger for Post {
    fn send(&self, message: &OutgoingMessage) -> Vec<EventId> {
        self.0.lock().push(message.clone());
        message.recipients.iter().map(|_| event_id(self.1.fetch_add(1, Ordering::Relaxed))).collect()
    }

    fn relays(&self) -> Vec<String> {
        vec!["wss://relay.example".to_owned()]
    }
}

fn event_id(number: u64) -> EventId {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    EventId::from_byte_array(bytes)
}

/// A clock that stands until it is turned, for the interface only; the engine has the machine's.
pub struct TurnedClock(AtomicU64);

impl TurnedClock {
    pub fn turn(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

#[async_trait::async_trait]
impl Clock for TurnedClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    async fn sleep(&self, _: Duration) {
        std::future::pending().await
    }
}

/// What the other parts of the service say of themselves here.
pub struct PartsSay(pub Mutex<(Readiness, Vec<Family>)>);

impl Default for PartsSay {
    fn default() -> Self {
        let relays = RelaysReadiness { connected: 2, total: 3 };
        Self(Mutex::new((
            Readiness {
                relays,
                store: true,
                damaged: Vec::new(),
                wallet: WalletReadiness { backend: "none", connected: true, warnings: Vec::new() },
                mints: Vec::new(),
            },
            Vec::new(),
        )))
    }
}

#[async_trait::async_trait]
impl ServiceStatus for PartsSay {
    async fn readiness(&self) -> Readiness {
        self.0.lock().0.clone()
    }

    async fn metrics(&self) -> Vec<Family> {
        self.0.lock().1.clone()
    }
}

pub struct Builder {
    pub limits: Limits,
    pub docs: DocsAccess,
    pub serve: ServeOptions,
    pub max_open_streams: usize,
    pub handshake_ttl: Duration,
    /// The app's webhook endpoint.
    pub webhook: Option<Arc<dyn WebhookSender>>,
    /// Where another service of this test has left its database.
    pub folder: Option<TempDir>,
    /// The rules of age verification.
    pub verification: VerificationRules,
    /// The Lightning backend.
    pub lightning: Option<LightningBackend>,
    /// The OpenID Connect provider.
    pub openid: Option<Arc<dyn OpenIdControl>>,
    /// The pages for users' browsers.
    pub pages: axum::Router,
}

pub struct TestApp {
    pub address: SocketAddr,
    pub http: reqwest::Client,
    pub engine: Arc<Engine>,
    pub store: Arc<FaultyStore>,
    pub deliveries: Arc<dyn DeliveryStore>,
    pub clock: Arc<TurnedClock>,
    pub parts_say: Arc<PartsSay>,
    pub stop: CancellationToken,
    pub tasks: TaskTracker,
    pub server: JoinHandle<()>,
    pub tokens: ApiTokens,
    pub tickets: Arc<ScriptedTicketWallet>,
    post: Arc<Post>,
    inbox: mpsc::Sender<Inbound>,
    next_event: AtomicU64,
    sqlite: Arc<SqliteStore>,
    folder: TempDir,
}

impl Builder {
    pub async fn start(self) -> TestApp {
        let folder = self.folder.unwrap_or_else(|| tempfile::tempdir().unwrap());
        let sqlite = SqliteStore::open(&folder.path().join("test.sqlite"), SqliteOptions::default()).unwrap();
        let sqlite = Arc::new(sqlite);
        let store = Arc::new(FaultyStore::new(Arc::clone(&sqlite) as _, Arc::clone(&sqlite) as _));
        let (inbox, receiver) = mpsc::channel(64);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let post = Arc::new(Post::default());
        let tickets = Arc::new(ScriptedTicketWallet::default());
        let options = EngineOptions {
            main_key: key(SERVICE),
            subkey: None,
            subkey_proof: None,
            url_scheme: "nostr+walletconnect".to_owned(),
            handshake_ttl: self.handshake_ttl,
            challenge_ttl: Duration::from_secs(300),
            max_open_streams: self.max_open_streams,
            retention: Duration::from_secs(86_400),
            ticket_send_ttl: Duration::from_secs(168 * 3600),
            payments: PaymentRules {
                network: Network::Regtest,
                max_amount: 100_000_000_000,
                retry_after: vec![Duration::from_secs(24 * 3600), Duration::from_secs(72 * 3600)],
                look_ups_per_second: 10,
                spending: SpendingRules::default(),
            },
            verification: self.verification,
            pages: PageRules {
                return_urls: vec!["https://app.example/login".parse().unwrap()],
                ..PageRules::default()
            },
        };
        let parts = EngineParts {
            store: Arc::clone(&store) as _,
            idempotency: Arc::clone(&store) as _,
            deliveries: Arc::clone(&sqlite) as _,
            webhook: self.webhook,
            messenger: Arc::clone(&post) as _,
            clock: Arc::new(SystemClock),
            randomness: Arc::new(OsRandomness),
            inbox: receiver,
            lightning: self.lightning,
            lightning_notifications: None,
            tickets: Some(Arc::clone(&tickets) as _),
            age_verifier: None,
            remote_signer: None,
        };
        let engine = Engine::start(options, parts, &tasks, stop.clone()).await.unwrap();
        let world = Arc::new(World::default());
        let parts_say = Arc::new(PartsSay::default());
        let clock = Arc::new(TurnedClock(AtomicU64::new(1_732_137_600_000)));
        let tokens = ApiTokens::new(&TOKEN.into(), None);
        let state = ApiState::new(ApiParts {
            engine: Arc::clone(&engine),
            tokens: tokens.clone(),
            version: "1.2.3".to_owned(),
            commit: "abcdef0".to_owned(),
            jwt: JwtIssuer::new(keys(SERVICE)),
            limits: self.limits,
            docs: self.docs,
            directory: Arc::clone(&world) as _,
            relays: Arc::clone(&world) as _,
            status: Arc::clone(&parts_say) as _,
            clock: Arc::clone(&clock) as _,
            randomness: Arc::new(OsRandomness),
            tasks: tasks.clone(),
            stop: stop.clone(),
            openid: self.openid,
            pages: self.pages,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = usher_api::serve(listener, state, self.serve, tasks.clone(), stop.clone());
        TestApp {
            address,
            http: reqwest::Client::builder().timeout(PATIENCE).build().unwrap(),
            engine,
            store,
            deliveries: Arc::clone(&sqlite) as _,
            clock,
            parts_say,
            stop,
            server: tokio::spawn(serving),
            tokens,
            tickets,
            tasks,
            post,
            inbox,
            next_event: AtomicU64::new(1 << 32),
            sqlite,
            folder,
        }
    }
}

impl TestApp {
    pub fn builder() -> Builder {
        Builder {
            limits: Limits::default(),
            docs: DocsAccess::WithTokenOrLocal,
            serve: ServeOptions::default(),
            max_open_streams: 1_000,
            handshake_ttl: Duration::from_secs(600),
            webhook: None,
            folder: None,
            verification: VerificationRules::default(),
            lightning: None,
            openid: None,
            pages: axum::Router::new(),
        }
    }

    pub async fn start() -> Self {
        Self::builder().start().await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(self.url(path)).bearer_auth(TOKEN).header("x-request-id", "test")
    }

    pub fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.post(self.url(path)).bearer_auth(TOKEN).header("x-request-id", "test")
    }

    /// Starts a handshake; gives the stream and the token of its URL.
    pub async fn handshake(&self, body: Value) -> (String, String) {
        let response = self.post("/key-handshake").json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let body: Value = response.json().await.unwrap();
        let url = body["url"].as_str().unwrap();
        let token = url.split("token=").nth(1).unwrap().split('&').next().unwrap();
        (body["stream_id"].as_str().unwrap().to_owned(), token.to_owned())
    }

    /// Starts an authentication; gives the stream and the challenge that was sent.
    pub async fn authentication(&self, main_key: PublicKey) -> (String, String) {
        let body = serde_json::json!({ "main_key": main_key.to_hex(), "subkeys": [] });
        let response = self.post("/authenticate-key").json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let body: Value = response.json().await.unwrap();
        let stream = body["stream_id"].as_str().unwrap().to_owned();
        (stream, self.challenge_to(main_key).await)
    }

    /// The challenge that was sent to this user.
    pub async fn challenge_to(&self, main_key: PublicKey) -> String {
        eventually(|| {
            let messages = self.post.0.lock();
            let message = messages.iter().find(|message| message.recipients == [main_key])?;
            let content: Value = serde_json::from_str(&message.content).unwrap();
            Some(content["challenge"].as_str().unwrap().to_owned())
        })
        .await
    }

    /// What this user is asked for by the last request for a ticket (29500).
    pub async fn asked_for_ticket(&self, main_key: PublicKey) -> Value {
        eventually(|| {
            let messages = self.post.0.lock();
            let is_wanted = |message: &&OutgoingMessage| message.kind == 29_500 && message.recipients == [main_key];
            messages.iter().rev().find(is_wanted).map(|message| serde_json::from_str(&message.content).unwrap())
        })
        .await
    }

    /// A wallet opens a handshake URL.
    pub async fn scan(&self, token: &str, user: PublicKey) {
        self.receive(
            user,
            WalletMessage::KeyHandshake(KeyHandshake {
                token: token.to_owned(),
                client_info: None,
                preferred_relays: vec!["wss://user.example".to_owned()],
            }),
        )
        .await;
    }

    /// A wallet approves.
    pub async fn approve(&self, challenge: &str, user: PublicKey, session_token: Option<&str>) {
        let status = AuthStatus::Approved {
            granted_permissions: vec!["name".to_owned()],
            session_token: session_token.map(str::to_owned),
        };
        let response = AuthResponse { challenge: challenge.to_owned(), subkey_proof: None, status };
        self.receive(user, WalletMessage::AuthResponse(response)).await;
    }

    async fn receive(&self, author: PublicKey, message: WalletMessage) {
        let event_id = event_id(self.next_event.fetch_add(1, Ordering::Relaxed));
        self.inbox.send(Inbound { event_id, author, created_at: 0, message, via: Via::default() }).await.unwrap();
    }

    /// Stops the service, and returns when every task of it has ended.
    pub async fn stop(self) {
        self.stop_and_leave_database().await;
    }

    /// Like [`stop`](Self::stop), but returns the folder for the next service.
    pub async fn stop_and_leave_database(self) -> TempDir {
        self.stop.cancel();
        within(self.server).await.unwrap();
        self.tasks.close();
        within(self.tasks.wait()).await;
        self.sqlite.close().await;
        self.folder
    }
}

/// The number of the service's own key.
pub const SERVICE: u8 = 1;

/// A user's key.
pub fn key(number: u8) -> PublicKey {
    keys(number).public_key()
}

/// A user's key and its secret.
pub fn keys(number: u8) -> Keys {
    let mut secret = [0; 32];
    secret[31] = number;
    Keys::new(usher_protocol::SecretKey::from_slice(&secret).unwrap())
}

/// What `future` gives, in time.
pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("it takes too long")
}

/// What `probe` finds at last.
pub async fn eventually<T>(mut probe: impl FnMut() -> Option<T>) -> T {
    within(async {
        loop {
            if let Some(found) = probe() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}
