//! What is sent, of a service with real relays, a wallet and an app, whose clock a test turns.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use parking_lot::Mutex;
use usher_engine::Requester;
use usher_engine::ports::{Clock as _, SystemClock};
use usher_instance::LeaseGate;
use usher_protocol::Keys;
use usher_sandbox::lightning::{LightningNetwork, NwcService};
use usher_testing::ports::ManualClock;
use usher_testing::relay::{Quirks, QuirkyRelay};
use usher_testing::{WebResponse, WebServer, until};

use crate::config::{Config, Source, load_text};
use crate::database::open_sqlite;
use crate::service_lifecycle::{Listeners, Mode, Service, TestMode, TestRoutes};

const MINUTE: Duration = Duration::from_secs(60);

/// A server that records the bodies of what it accepts, and refuses while it is set to.
struct Server {
    server: WebServer,
    bodies: Arc<Mutex<Vec<String>>>,
    refuses: Arc<AtomicBool>,
}

impl Server {
    async fn start() -> Self {
        let (bodies, refuses) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicBool>::default());
        let (taken, refusing) = (Arc::clone(&bodies), Arc::clone(&refuses));
        let server = WebServer::start(move |request| {
            if refusing.load(Ordering::SeqCst) {
                return WebResponse::new(503, "", "");
            }
            taken.lock().push(String::from_utf8(request.body.clone()).unwrap());
            WebResponse::new(200, "", "")
        });
        Self { server: server.await, bodies, refuses }
    }

    fn url(&self) -> String {
        self.server.url("/topic")
    }

    /// Turns the clock until a text like this is there: how long that took by the clock, at least.
    async fn has(&self, what: &str, clock: &ManualClock) -> Duration {
        let begun = clock.monotonic();
        until(what, async || {
            clock.turn(Duration::from_secs(10));
            self.bodies.lock().iter().any(|body| body.contains(what))
        })
        .await;
        clock.monotonic() - begun
    }
}

fn configuration(text: &str, folder: &Path) -> Config {
    let source = Source { data_dir: folder.to_owned(), variables: Vec::new(), now: SystemClock.now() };
    let loaded = load_text(text, &source);
    assert_eq!(loaded.errors, []);
    loaded.config.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_relay_a_failing_webhook_and_a_low_balance_are_sent_in_their_time() {
    let [first, second] = [QuirkyRelay::start(Quirks::default()).await, QuirkyRelay::start(Quirks::default()).await];
    let (first, second) = (first.unwrap(), second.unwrap());
    let account = LightningNetwork::new().open_account("shop", 4_000);
    let wallet = NwcService::start(&account, &[first.url()]).await;
    let (ntfy, app) = (Server::start().await, Server::start().await);
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[info]\nlisten_port = 0\n[auth]\nauth_token = \"{:064}\"\n[nostr]\nprivate_key = \"{}\"\nrelays = [\"{}\", \"{}\"]\n\
         [wallet]\nln_backend = \"nwc\"\nnetwork = \"regtest\"\n[wallet.nwc]\nurl = \"{}\"\n[webhook]\nurl = \"{}\"\n\
         [[notices]]\nntfy = \"{}\"\non = [\"relay\", \"webhook\", {{ balance_below_millisats = 5000 }}]\n",
        7,
        Keys::generate().secret_key().to_secret_hex(),
        first.url(),
        second.url(),
        wallet.url(),
        app.url(),
        ntfy.url(),
    );
    let config = configuration(&text, folder.path());
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let mode = Mode::Test(TestMode {
        picture: None,
        clock: Arc::clone(&clock) as _,
        routes: Box::new(|_, _, _| TestRoutes { pages: Router::new(), ..TestRoutes::default() }),
    });
    let store = open_sqlite(&config, folder.path()).unwrap();
    let listeners = Listeners::bind(&config).await.unwrap();
    let service = Service::start(&config, folder.path(), mode, store, listeners, LeaseGate::default()).await.unwrap();
    let engine = Arc::clone(service.engine());
    for relay in [&first, &second] {
        relay.wait_for(10 * MINUTE, |metrics| metrics.reqs >= 1).await.unwrap();
    }
    until("the wallet", async || engine.lightning_status().unwrap().1.connected).await;

    ntfy.has("The Lightning backend can send 4 sat, which is less than 5 sat.", &clock).await;

    let port = second.port();
    second.stop().await;
    assert!(ntfy.has("The relay 127.0.0.1 is lost.", &clock).await >= 10 * MINUTE);
    let _second = QuirkyRelay::start_on(port, Quirks::default()).await.unwrap();
    assert!(ntfy.has("The relay 127.0.0.1 is connected again", &clock).await >= 10 * MINUTE);

    app.refuses.store(true, Ordering::SeqCst);
    engine.test_webhook(&Requester::Service, None).await.unwrap();
    let what = "The webhook has not accepted events for an hour: the receiver answered 503 Service Unavailable.";
    assert!(ntfy.has(what, &clock).await >= 60 * MINUTE);
    app.refuses.store(false, Ordering::SeqCst);
    ntfy.has("The webhook accepts events again.", &clock).await;
    assert_eq!(ntfy.bodies.lock().len(), 5, "{:?}", ntfy.bodies.lock());
    service.stop().await;
}
