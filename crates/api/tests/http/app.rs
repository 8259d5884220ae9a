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
    ApiParts, ApiState, ApiTokens, ConsoleOptions, Family, Limits, Readiness, RelaysReadiness, Routes, ServeOptions,
    ServiceStatus, Setting, WalletReadiness,
};
use usher_engine::access::{KeyRing, Operator, Operators, Role};
use usher_engine::ports::{
    Clock, DeliveryStore, Inbound, OpenIdControl, OsRandomness, OutgoingMessage, SystemClock, Via, WebhookSender,
};
use usher_engine::{Engine, EngineOptions, EngineParts, LightningBackend, PageRules, UnixMillis};
use usher_protocol::jwt::JwtIssuer;
use usher_protocol::message::{AuthResponse, AuthStatus, KeyHandshake, WalletMessage};
use usher_protocol::{EventId, Keys, PublicKey};
use usher_store::{SqliteOptions, SqliteStore};
use usher_testing::ports::{
    self, FakeDirectory, FakeRelayRegistry, FakeTicketWallet, FaultyStore, ManualClock, Methods, RecordingMessenger,
};

pub const TOKEN: &str = "t0ken-of-the-tests";

/// The calls of the store that requests make.
pub const REQUESTS: Methods = &[
    "create",
    "commit_all",
    "operation",
    "operation_with_key",
    "events",
    "idempotency_record",
    "add_idempotency_record",
];

/// Longer than anything here takes on a machine that is busy with something else.
pub const TIMEOUT: Duration = Duration::from_secs(180);

/// A fixed status of the other parts of the service.
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
                rates: Vec::new(),
                last_backup: Some(UnixMillis(1_732_137_600_000)),
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

    fn settings(&self) -> Vec<Setting> {
        vec![Setting { key: "webhook.secret", value: "set".into(), source: "environment" }]
    }

    fn webhook_secret_uses(&self) -> Vec<Option<UnixMillis>> {
        vec![Some(UnixMillis::from_secs(1_732_141_200))]
    }

    async fn metrics(&self) -> Vec<Family> {
        self.0.lock().1.clone()
    }
}

/// What the service sent to wallets.
struct Sent {
    messages: mpsc::UnboundedReceiver<(OutgoingMessage, Vec<EventId>)>,
    seen: Vec<OutgoingMessage>,
}

impl Sent {
    async fn find(&mut self, is_wanted: impl Fn(&OutgoingMessage) -> bool) -> OutgoingMessage {
        loop {
            while let Ok((message, _)) = self.messages.try_recv() {
                self.seen.push(message);
            }
            if let Some(message) = self.seen.iter().rev().find(|message| is_wanted(message)) {
                return message.clone();
            }
            let (message, _) = within(self.messages.recv()).await.unwrap();
            self.seen.push(message);
        }
    }
}

pub struct Builder {
    pub limits: Limits,
    pub is_development: bool,
    pub serve: ServeOptions,
    pub options: EngineOptions,
    pub webhook: Option<Arc<dyn WebhookSender>>,
    /// Where another service of this test has left its database.
    pub folder: Option<TempDir>,
    pub lightning: Option<LightningBackend>,
    pub openid: Option<Arc<dyn OpenIdControl>>,
    /// The pages for users' browsers.
    pub pages: axum::Router,
    pub console_networks: Vec<ipnet::IpNet>,
    /// Its routes for browsers on this machine.
    pub local: axum::Router,
}

pub struct TestApp {
    pub address: SocketAddr,
    pub http: reqwest::Client,
    pub engine: Arc<Engine>,
    pub store: Arc<FaultyStore<SqliteStore>>,
    pub deliveries: Arc<dyn DeliveryStore>,
    /// The clock of the interface; the engine has the machine's.
    pub clock: Arc<ManualClock>,
    pub parts_say: Arc<PartsSay>,
    pub stop: CancellationToken,
    pub tasks: TaskTracker,
    pub server: JoinHandle<()>,
    pub tokens: ApiTokens,
    pub keys: Arc<KeyRing>,
    /// The ticket wallet. It holds 42 at [`ports::MINT`], and nothing else.
    pub tickets: Arc<FakeTicketWallet>,
    pub directory: Arc<FakeDirectory>,
    sent: tokio::sync::Mutex<Sent>,
    inbox: mpsc::Sender<Inbound>,
    next_event: AtomicU64,
    /// The challenges that were approved.
    approved: Mutex<Vec<String>>,
    sqlite: Arc<SqliteStore>,
    folder: TempDir,
}

/// The public URL of the console in tests.
pub const CONSOLE: &str = "https://usher.example";

/// Operators of the console with each role.
pub const VIEWER: u8 = 61;
pub const SUPPORT: u8 = 62;
pub const ADMIN: u8 = 63;
/// In `wallet.approvers`, without a role.
pub const APPROVER: u8 = 64;
/// In `wallet.approvers`, and an administrator.
pub const OWNER: u8 = 65;

fn console_options(networks: Vec<ipnet::IpNet>) -> ConsoleOptions {
    let cookie = |headers: &http::HeaderMap| {
        let cookie = headers.get("cookie")?.to_str().ok()?;
        Some(cookie.strip_prefix("session=")?.to_owned())
    };
    ConsoleOptions {
        public_url: CONSOLE.parse().unwrap(),
        networks,
        secret: Arc::new(cookie),
        service: Some("Bar Seven".to_owned()),
        currency: None,
    }
}

impl Builder {
    pub async fn start(self) -> TestApp {
        let folder = self.folder.unwrap_or_else(|| tempfile::tempdir().unwrap());
        let sqlite = SqliteStore::open(&folder.path().join("test.sqlite"), SqliteOptions::default()).unwrap();
        let sqlite = Arc::new(sqlite);
        let store = FaultyStore::on(Arc::clone(&sqlite));
        let (inbox, receiver) = mpsc::channel(64);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (messenger, messages) = RecordingMessenger::new(&["wss://relay.example"]);
        let tickets = Arc::new(FakeTicketWallet::default());
        tickets.deposit(42);
        let parts = EngineParts {
            store: Arc::clone(&store) as _,
            idempotency: Arc::clone(&store) as _,
            deliveries: Arc::clone(&sqlite) as _,
            webhook: self.webhook,
            messenger: Arc::new(messenger),
            clock: Arc::new(SystemClock),
            randomness: Arc::new(OsRandomness),
            inbox: receiver,
            lightning: self.lightning,
            lightning_notifications: None,
            tickets: Some(Arc::clone(&tickets) as _),
            payees: None,
            age_verifier: None,
            remote_signer: None,
            rates: None,
        };
        let engine = Engine::start(self.options, parts, &tasks, stop.clone()).await.unwrap();
        let directory = FakeDirectory::of(key(SERVICE))
            .with_user(key(KNOWN), "ada", "ada@example.com")
            .with_unreachable(key(UNREACHABLE))
            .with_busy("busy@example.com");
        let directory = Arc::new(directory);
        let parts_say = Arc::new(PartsSay::default());
        let clock = Arc::new(ManualClock::at(UnixMillis(1_732_137_600_000)));
        let tokens = ApiTokens::new(&TOKEN.into(), None);
        let (of_ring, randomness) = (Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(OsRandomness));
        let operators = [(VIEWER, Role::Viewer), (SUPPORT, Role::Support), (ADMIN, Role::Admin)];
        let mut operators =
            operators.map(|(n, role)| Operator { key: key(n), name: role.as_str().to_owned(), role }).to_vec();
        operators.push(Operator { key: key(OWNER), name: "owner".to_owned(), role: Role::Admin });
        let approvers = vec![key(APPROVER), key(OWNER)];
        let operators = Operators::load(operators, approvers, sqlite.clone(), of_ring.clone(), randomness.clone());
        let ring = KeyRing::load(sqlite.clone(), operators.await.unwrap(), of_ring, randomness).await.unwrap();
        tasks.spawn(Arc::clone(&ring).run(stop.clone()));
        let state = ApiState::new(ApiParts {
            engine: Arc::clone(&engine),
            tokens: tokens.clone(),
            keys: Arc::clone(&ring),
            version: "1.2.3".to_owned(),
            commit: "abcdef0".to_owned(),
            jwt: JwtIssuer::new(keys(SERVICE)),
            limits: self.limits,
            is_development: self.is_development,
            directory: Arc::clone(&directory) as _,
            relays: Arc::new(FakeRelayRegistry::default()),
            status: Arc::clone(&parts_say) as _,
            clock: Arc::clone(&clock) as _,
            randomness: Arc::new(OsRandomness),
            tasks: tasks.clone(),
            stop: stop.clone(),
            openid: self.openid,
            pages: self.pages,
            console: Some(console_options(self.console_networks)),
            passkey_domain: Some("usher.example".to_owned()),
            local: self.local,
            test_routes: axum::Router::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = usher_api::serve(listener, state, Routes::all(), self.serve, tasks.clone(), stop.clone());
        TestApp {
            address,
            http: reqwest::Client::builder().timeout(TIMEOUT).build().unwrap(),
            engine,
            store,
            deliveries: Arc::clone(&sqlite) as _,
            clock,
            parts_say,
            stop,
            server: tokio::spawn(serving),
            tokens,
            keys: ring,
            tickets,
            directory,
            tasks,
            sent: tokio::sync::Mutex::new(Sent { messages, seen: Vec::new() }),
            inbox,
            next_event: AtomicU64::new(1 << 32),
            approved: Mutex::default(),
            sqlite,
            folder,
        }
    }
}

impl TestApp {
    pub fn builder() -> Builder {
        Builder {
            limits: Limits::default(),
            is_development: true,
            serve: ServeOptions::default(),
            options: EngineOptions {
                retention: Duration::from_secs(86_400),
                pages: PageRules {
                    return_urls: vec!["https://app.example/login".parse().unwrap()],
                    ..PageRules::default()
                },
                ..ports::options(key(SERVICE))
            },
            webhook: None,
            folder: None,
            lightning: None,
            openid: None,
            pages: axum::Router::new(),
            console_networks: Vec::new(),
            local: axum::Router::new(),
        }
    }

    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// One that differs in this.
    pub async fn with<T>(change: impl FnOnce(&mut Builder) -> T) -> Self {
        let mut builder = Self::builder();
        change(&mut builder);
        builder.start().await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method.parse().unwrap(), self.url(path));
        request.bearer_auth(TOKEN).header("x-request-id", "test")
    }

    pub fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.request("GET", path)
    }

    pub fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.request("POST", path)
    }

    /// A request for server-sent events.
    pub fn sse(&self, path: &str) -> reqwest::RequestBuilder {
        self.get(path).header("accept", "text/event-stream")
    }

    /// The status and the JSON of a response. No body is sent for `null`.
    pub async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let request = self.request(method, path);
        read(if body.is_null() { request } else { request.json(&body) }).await
    }

    pub async fn read(&self, path: &str) -> Value {
        self.done("GET", path, Value::Null).await
    }

    /// Calls what succeeds.
    pub async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, body) = self.call(method, path, body).await;
        assert_eq!(status, 200, "{method} {path}: {body}");
        body
    }

    /// Calls what is refused so; the problem.
    pub async fn refused(&self, method: &str, path: &str, body: Value, refusal: (u16, &str)) -> Value {
        let (status, problem) = self.call(method, path, body.clone()).await;
        let found = (status, problem["code"].as_str().unwrap_or_default());
        assert_eq!(found, refusal, "{method} {path} {body}: {problem}");
        problem
    }

    pub async fn metric(&self, line: &str) {
        until(async || self.get("/metrics").send().await.unwrap().text().await.unwrap().contains(line)).await;
    }

    /// Starts a handshake; gives the stream and the token of its URL.
    pub async fn handshake(&self, body: Value) -> (String, String) {
        let body = self.done("POST", "/key-handshake", body).await;
        (stream_of(&body), token_of(&body))
    }

    /// A reusable handshake to which `count` users have come.
    pub async fn poster(&self, name: &str, count: u8) -> (String, String) {
        let (stream, token) = self.handshake(serde_json::json!({ "static_token": name })).await;
        for user in 1..=count {
            self.come(&stream, &token, user).await;
        }
        (stream, token)
    }

    /// The next user scans a reusable handshake.
    pub async fn come(&self, stream: &str, token: &str, user: u8) {
        self.scan(token, key(user)).await;
        let page = self.read(&format!("/events/{stream}?after={}&wait=60", user - 1)).await;
        assert_eq!(page["next"], user);
    }

    /// Starts an authentication; gives the stream and the challenge that was sent.
    pub async fn authentication(&self, main_key: PublicKey) -> (String, String) {
        let body = serde_json::json!({ "main_key": main_key.to_hex(), "subkeys": [] });
        let body = self.done("POST", "/authenticate-key", body).await;
        (stream_of(&body), self.challenge_to(main_key).await)
    }

    /// The challenge that was sent to this user last, and is not approved.
    pub async fn challenge_to(&self, main_key: PublicKey) -> String {
        let is_open = |message: &OutgoingMessage| !self.approved.lock().iter().any(|old| message.content.contains(old));
        let is_wanted = |message: &OutgoingMessage| message.recipients == [main_key] && is_open(message);
        let message = self.sent.lock().await.find(is_wanted).await;
        let content: Value = serde_json::from_str(&message.content).unwrap();
        content["challenge"].as_str().unwrap().to_owned()
    }

    /// What this user is asked for by the last request for a ticket (29500).
    pub async fn asked_for_ticket(&self, main_key: PublicKey) -> Value {
        let is_wanted = |message: &OutgoingMessage| message.kind == 29_500 && message.recipients == [main_key];
        serde_json::from_str(&self.sent.lock().await.find(is_wanted).await.content).unwrap()
    }

    /// A wallet opens a handshake URL.
    pub async fn scan(&self, token: &str, user: PublicKey) {
        let preferred_relays = vec!["wss://user.example".to_owned()];
        let handshake = KeyHandshake { token: token.to_owned(), client_info: None, preferred_relays };
        self.receive(user, WalletMessage::KeyHandshake(handshake)).await;
    }

    /// A wallet approves.
    pub async fn approve(&self, challenge: &str, user: PublicKey, session_token: Option<&str>) {
        let status = AuthStatus::Approved {
            granted_permissions: vec!["name".to_owned()],
            session_token: session_token.map(str::to_owned),
        };
        self.approved.lock().push(challenge.to_owned());
        let response = AuthResponse { challenge: challenge.to_owned(), subkey_proof: None, status };
        self.receive(user, WalletMessage::AuthResponse(response)).await;
    }

    async fn receive(&self, author: PublicKey, message: WalletMessage) {
        let number = self.next_event.fetch_add(1, Ordering::Relaxed);
        let event_id = EventId::from_byte_array([number.to_be_bytes(); 4].concat().try_into().unwrap());
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

/// The status and the JSON of a response.
pub async fn read(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap_or_default())
}

/// The stream that a response names.
pub fn stream_of(started: &Value) -> String {
    started["stream_id"].as_str().unwrap().to_owned()
}

/// The token of the URL in a response.
pub fn token_of(started: &Value) -> String {
    started["url"].as_str().unwrap().split("token=").nth(1).unwrap().split('&').next().unwrap().to_owned()
}

/// The fields that a problem names, in the order of their names.
pub fn pointers(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().into_iter().flatten();
    let mut pointers: Vec<_> = errors.map(|error| error["pointer"].as_str().unwrap()).collect();
    pointers.sort_unstable();
    pointers
}

/// The number of the service's own key.
pub const SERVICE: u8 = 1;

/// The user whom the directory knows.
pub const KNOWN: u8 = 7;

/// A user without a profile at any relay.
pub const UNREACHABLE: u8 = 9;

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
    tokio::time::timeout(TIMEOUT, future).await.expect("it takes too long")
}

pub async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    within(async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
