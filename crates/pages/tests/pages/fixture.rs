//! The pages on a real engine and a real store.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;
use usher_engine::access::{KeyRing, Operator, Operators, Role};
use usher_engine::operations::LoginMethod;
use usher_engine::ports::AgeVerifier;
use usher_engine::{
    ClientNetwork, Engine, EngineOptions, EngineParts, LightningBackend, LoginRequest, LoginStarted, PageRules,
    RelyingParty, Requester, ShownStream, StreamId, UnixMillis, VerificationSessionRequest, VerificationSessionStarted,
};
use usher_page_layout::{Site, SiteOptions};
use usher_pages::{OperatorOptions, PagesOptions};
use usher_protocol::{Keys, SecretKey};
use usher_remote_signer::{NostrRemoteSigner, RemoteSignerOptions};
use usher_store::{SqliteOptions, SqliteStore};
use usher_testing::ports::{self, FakeLightning, FaultyStore, ManualClock, RecordingMessenger, SeededRandomness};

pub(crate) const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
pub(crate) const URL: &str = "https://shop.example/usher";

/// What is different of a service.
#[derive(Default)]
pub(crate) struct PagesOf<'a> {
    pub(crate) service_name: Option<&'a str>,
    pub(crate) age_verifier: Option<Arc<dyn AgeVerifier>>,
    /// Where its users' remote signers are to be found.
    pub(crate) relays: &'a [&'a str],
    /// `pages.login_methods`
    pub(crate) login_methods: Option<Vec<LoginMethod>>,
    /// Whether none of its relays is connected.
    pub(crate) is_offline: bool,
}

pub(crate) struct Pages {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) faults: Arc<FaultyStore<SqliteStore>>,
    router: Router,
    tasks: TaskTracker,
    stop: CancellationToken,
    _folder: TempDir,
}

impl Pages {
    pub(crate) async fn start(service_name: Option<&str>) -> Self {
        Self::start_with(service_name, None).await
    }

    pub(crate) async fn start_with(service_name: Option<&str>, age_verifier: Option<Arc<dyn AgeVerifier>>) -> Self {
        Self::start_as(PagesOf { service_name, age_verifier, ..PagesOf::default() }).await
    }

    pub(crate) async fn start_as(of: PagesOf<'_>) -> Self {
        let PagesOf { service_name, age_verifier, relays, login_methods, is_offline } = of;
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("test.sqlite"), SqliteOptions::default()).unwrap();
        let store = Arc::new(store);
        let faults = FaultyStore::on(store.clone());
        let clock = Arc::new(ManualClock::at(NOW));
        let wallet = Arc::new(FakeLightning::default());
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let relays = relays.iter().map(|relay| (*relay).to_owned()).collect();
        let signers = NostrRemoteSigner::new(
            RemoteSignerOptions { allow_private: true, ..RemoteSignerOptions::new(relays) },
            &SecretKey::from_slice(&[1; 32]).unwrap(),
            clock.clone(),
            Arc::new(SeededRandomness::new(2)),
            tasks.clone(),
            stop.clone(),
        );
        let defaults = ports::options(keys(1).public_key());
        let options = EngineOptions {
            max_open_streams: 100,
            retention: Duration::from_secs(86_400),
            pages: PageRules {
                url: URL.to_owned(),
                return_urls: vec!["https://app.example/done".parse().unwrap()],
                passkeys: Some(RelyingParty::new("shop.example", "https://shop.example", "Bar Seven").unwrap()),
                key: [3; 32],
                ..PageRules::default()
            },
            ..defaults
        };
        let parts = EngineParts {
            store: faults.clone(),
            idempotency: store.clone(),
            deliveries: faults.clone(),
            webhook: None,
            messenger: Arc::new(RecordingMessenger::new(if is_offline { &[] } else { &["wss://relay.example"] }).0),
            clock: clock.clone(),
            randomness: Arc::new(SeededRandomness::new(1)),
            inbox: mpsc::channel(1).1,
            lightning: Some(LightningBackend { adapter: wallet.clone(), name: "fake", node: None }),
            lightning_notifications: Some(wallet.begin(clock.clone())),
            tickets: None,
            payees: None,
            age_verifier,
            remote_signer: Some(Arc::new(signers.unwrap())),
            rates: None,
        };
        let engine = Engine::start(options, parts, &tasks, stop.clone()).await.unwrap();
        let randomness = Arc::new(SeededRandomness::new(3));
        let admin = Operator { key: self::keys(23).public_key(), name: "Anna".to_owned(), role: Role::Admin };
        let approvers = vec![self::keys(21).public_key()];
        let operators = Operators::load(vec![admin], approvers, store.clone(), clock.clone(), randomness.clone()).await;
        let keys = KeyRing::load(store, operators.unwrap(), clock.clone(), randomness).await.unwrap();
        let console = Some(vec!["192.0.2.0/24".parse().unwrap()]);
        let operators = OperatorOptions { keys: Arc::clone(&keys), clock: clock.clone(), console };
        let (url, service_name) = (URL.to_owned(), service_name.map(str::to_owned));
        let options = PagesOptions {
            site: Site::new(SiteOptions { url, service_name, ..SiteOptions::default() }),
            directory: None,
            login_methods,
            has_lightning_address: true,
            app: Some("https://app.example/".parse().unwrap()),
            operators,
            tasks: tasks.clone(),
            stop: stop.clone(),
        };
        let router = usher_pages::router(Arc::clone(&engine), options);
        Self { engine, clock, keys, faults, router, tasks, stop, _folder: folder }
    }

    pub(crate) async fn event(&self, stream: StreamId) {
        self.engine.events().wait(ShownStream::to_service(stream), 0, 1, Duration::from_secs(60)).await.unwrap();
    }

    /// The data of the events of this stream.
    pub(crate) async fn told(&self, stream: StreamId) -> Vec<Value> {
        let events = self.engine.events().read(ShownStream::to_service(stream), 0, 100).await.unwrap().events;
        events.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect()
    }

    pub(crate) async fn poster(&self, static_token: &str, return_url: Option<&str>) -> LoginStarted {
        let static_token = Some(static_token.to_owned());
        let request = LoginRequest { return_url: return_url.map(str::to_owned), static_token };
        self.engine.logins().start(&Requester::Service, request, None).await.unwrap()
    }

    pub(crate) async fn open(&self) -> VerificationSessionStarted {
        self.engine
            .verification()
            .start(&Requester::Service, VerificationSessionRequest::default(), None)
            .await
            .unwrap()
    }

    /// As a browser does in which a user opens the address.
    pub(crate) async fn get(&self, path: &str) -> (u16, http::HeaderMap, String) {
        self.send(Request::get(path).header("sec-fetch-dest", "document").body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> (u16, http::HeaderMap, String) {
        let (head, body) = self.open_body(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        // The same on every page.
        let text = match (text.find("<style>"), text.find("</style>")) {
            (Some(start), Some(end)) => format!("{}{}", &text[..start], &text[end..]),
            _ => text,
        };
        (head.status.as_u16(), head.headers, text)
    }

    /// The response while its body is still to come.
    pub(crate) async fn open_body(&self, request: Request<Body>) -> http::Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn state(&self, page: &str) -> String {
        let request = Request::get(format!("{page}/events")).body(Body::empty()).unwrap();
        let first = self.open_body(request).await.into_body().frame().await.unwrap().unwrap();
        let text = String::from_utf8(first.into_data().unwrap().to_vec()).unwrap();
        text.trim_end().strip_prefix("data: ").unwrap().to_owned()
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

pub(crate) fn keys(number: u8) -> Keys {
    Keys::new(SecretKey::from_slice(&[number; 32]).unwrap())
}

pub(crate) fn network(number: u8) -> ClientNetwork {
    ClientNetwork::Network([10, 0, 0, number].into())
}

pub(crate) fn from(network: ClientNetwork, mut request: Request<Body>) -> Request<Body> {
    request.extensions_mut().insert(network);
    request
}

/// Where a proxy that serves the pages below a path sends the request.
pub(crate) fn path(session: &VerificationSessionStarted) -> String {
    session.session_url.strip_prefix(URL).unwrap().to_owned()
}
