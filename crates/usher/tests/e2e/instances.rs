//! Several instances that share a PostgreSQL database: whatever happens to one, nothing is lost, nothing happens twice, and
//! another one goes on.

mod api_keys;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use usher_testing::PostgresServer;
use usher_testing::proxy::BreakableProxy;
use usher_testing::relay::{Quirks, QuirkyRelay};

use crate::harness::{Api, App, CallError, Event, HandmadeWallet, LONG, Reply, TestUsher, until};

/// How long a lease lasts here, in seconds.
const LEASE: u64 = 2;

/// Instances of one service, the relay of its users, and the app.
struct Cluster {
    server: PostgresServer,
    relay: Arc<QuirkyRelay>,
    app: App,
    instances: Vec<TestUsher>,
}

impl Cluster {
    /// Starts so many instances one after the other: the first is the active one.
    async fn start(count: usize) -> Self {
        let server = PostgresServer::start();
        let url = server.url(&server.database());
        Self::start_at(server, &url, count, App::start(|_, _| Reply::Ok).await).await
    }

    async fn start_at(server: PostgresServer, url: &str, count: usize, app: App) -> Self {
        let relay = Arc::new(QuirkyRelay::start(Quirks::default()).await.unwrap());
        let builder = TestUsher::builder()
            .relays(&[relay.url()])
            .set("WEBHOOK__URL", app.url())
            .set("DATABASE__URL", url)
            .set("PAGES__PUBLIC_URL", "http://127.0.0.1:9/")
            .set("DATABASE__LEASE_SECONDS", LEASE);
        let mut cluster = Self { server, relay, app, instances: vec![builder.start().await] };
        cluster.until_active(0).await;
        for _ in 1..count {
            let another = cluster.instances[0].start_beside().await;
            cluster.instances.push(another);
        }
        cluster
    }

    fn client(&self) -> Client {
        Client(self.instances.iter().map(TestUsher::api).collect())
    }

    async fn active(&self) -> usize {
        until("active instance", async || {
            for (number, instance) in self.instances.iter().enumerate().filter(|(_, instance)| instance.runs()) {
                if role(&instance.api()).await.as_deref() == Some("active") {
                    return Some(number);
                }
            }
            None
        })
        .await
    }

    async fn until_active(&self, instance: usize) {
        self.until_role(instance, "active").await;
    }

    async fn until_role(&self, instance: usize, role: &str) {
        until_role(&self.instances[instance].api(), role).await;
    }

    fn signal(&self, instance: usize, signal: Signal) {
        let pid = Pid::from_raw(self.instances[instance].pid().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Every acknowledged handshake has its event, and the app has all events once accepted and in order.
    async fn check(&self, handshakes: &[(String, Event)]) {
        let client = self.client();
        for (stream, event) in handshakes {
            assert_eq!(&client.events(stream, 1).await[..1], std::slice::from_ref(event), "{stream}");
        }
        for (stream, event) in handshakes {
            self.app.takes(stream, 1).await;
            assert_eq!(self.app.accepted(stream)[0]["data"], event.data, "{stream}");
        }
        self.app.assert_order();
    }
}

async fn role(instance: &Api) -> Option<String> {
    match instance.get("/health/ready").await {
        Ok(ready) | Err(CallError::Status(503, ready)) => ready["instance"].as_str().map(str::to_owned),
        Err(_) => None,
    }
}

pub(crate) async fn until_role(instance: &Api, expected: &str) {
    until(expected, async || role(instance).await.filter(|role| role == expected)).await;
}

/// A client that asks any of the instances, and the next one when that fails.
#[derive(Clone)]
struct Client(Vec<Api>);

/// The response of the first available instance; errors of others must be temporary.
macro_rules! ask {
    ($client:expr, $api:ident => $call:expr) => {{
        let deadline = Instant::now() + LONG;
        'answered: loop {
            for $api in &$client.0 {
                match $call.await {
                    Ok(answer) => break 'answered answer,
                    Err(error) => passes(&error),
                }
            }
            assert!(Instant::now() < deadline, "no instance answers");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }};
}

fn passes(error: &CallError) {
    match error {
        CallError::Network(_) => {}
        CallError::Status(503, problem) => {
            let codes = ["no_active_instance", "storage_unavailable", "overloaded"];
            assert!(codes.iter().any(|code| problem["code"] == *code), "{problem}");
        }
        CallError::Status(..) => panic!("{error:?}"),
    }
}

impl Client {
    /// Starts a handshake once, however often it must be asked for.
    async fn handshake(&self, key: &str) -> (String, String) {
        let started = ask!(self, api => api.post_once("/key-handshake", key, &json!({}))).0;
        let text = |name: &str| started[name].as_str().unwrap().to_owned();
        (text("stream_id"), text("url"))
    }

    /// At least so many events, which may still be to come for a moment.
    async fn events(&self, stream: &str, count: usize) -> Vec<Event> {
        let deadline = Instant::now() + LONG;
        loop {
            let events = ask!(self, api => api.try_events(stream, 0, 1)).events;
            if events.len() >= count {
                return events;
            }
            assert!(Instant::now() < deadline, "{stream} has no event");
        }
    }

    /// A user opens a handshake, again and again until the service has noticed.
    async fn scan(&self, relay: &QuirkyRelay, (stream, url): &(String, String)) -> Event {
        let wallet = HandmadeWallet::new();
        let deadline = Instant::now() + LONG;
        loop {
            relay.inject(wallet.handshake(&url.parse().unwrap()));
            let events = ask!(self, api => api.try_events(stream, 0, 1)).events;
            if let Some(event) = events.into_iter().next() {
                return event;
            }
            assert!(Instant::now() < deadline, "{stream} has no event");
        }
    }
}

/// Handshakes that are started and scanned one after the other until the load is stopped.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<Mutex<Vec<(String, Event)>>>,
    workers: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    fn start(cluster: &Cluster, workers: usize) -> Self {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<Vec<_>>>::default());
        let workers = (0..workers).map(|worker| {
            let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
            let relay = Arc::clone(&cluster.relay);
            let mut client = cluster.client();
            let count = client.0.len();
            client.0.rotate_left(worker % count);
            tokio::spawn(async move {
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let handshake = client.handshake(&format!("worker-{worker}-{number}")).await;
                    let event = client.scan(&relay, &handshake).await;
                    done.lock().push((handshake.0, event));
                }
            })
        });
        let workers = workers.collect();
        Self { stop, done, workers }
    }

    /// Returns when so many more have been done.
    async fn goes_on(&self, more: usize) {
        let before = self.done.lock().len();
        until("work that goes on", async || (self.done.lock().len() >= before + more).then_some(())).await;
    }

    async fn stop(self) -> Vec<(String, Event)> {
        self.stop.store(true, Ordering::Relaxed);
        for worker in self.workers {
            worker.await.unwrap();
        }
        let done = self.done.lock().clone();
        let mut streams: Vec<_> = done.iter().map(|(stream, _)| stream).collect();
        streams.sort_unstable();
        streams.dedup();
        assert_eq!(streams.len(), done.len(), "each request started an operation of its own");
        done
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_instance_takes_over_from_one_that_is_killed_or_stopped() {
    let mut cluster = Cluster::start(3).await;
    let load = Load::start(&cluster, 4);
    for is_killed in [true, false, true, false] {
        load.goes_on(5).await;
        let active = cluster.active().await;
        if is_killed {
            cluster.instances[active].kill();
        } else {
            assert!(cluster.instances[active].stop().await.success());
        }
        load.goes_on(5).await;
        cluster.instances[active].start_again().await;
    }
    let done = load.stop().await;
    cluster.check(&done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_instance_does_nothing_more_when_it_goes_on() {
    // The first post of the event hangs: it is under way when the instance is paused.
    let server = PostgresServer::start();
    let url = server.url(&server.database());
    let app = App::start(|_, before| if before == 0 { Reply::Hang } else { Reply::Ok }).await;
    let cluster = Cluster::start_at(server, &url, 2, app).await;
    let client = cluster.client();
    let handshake = client.handshake("before").await;
    let event = client.scan(&cluster.relay, &handshake).await;
    cluster.app.until("the event is posted", |app| !app.posts().is_empty()).await;

    cluster.signal(0, Signal::STOP);
    let second = Client(vec![cluster.instances[1].api()]);
    let another = second.handshake("meanwhile").await;
    second.events(&handshake.0, 1).await;
    cluster.until_active(1).await;
    cluster.signal(0, Signal::CONT);
    cluster.until_role(0, "standby").await;
    assert!(cluster.instances[0].log().contains("starts over as a standby"));

    let scanned = Client(vec![cluster.instances[0].api()]).scan(&cluster.relay, &another).await;
    cluster.check(&[(handshake.0.clone(), event), (another.0, scanned)]).await;
    assert_eq!(
        cluster.app.posts().iter().filter(|post| post.stream() == handshake.0).count(),
        2,
        "the one that hung, and one by the instance that took over"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_when_the_database_is_back() {
    let mut cluster = Cluster::start(2).await;
    let load = Load::start(&cluster, 2);
    for away in [Duration::ZERO, Duration::from_secs(LEASE + 1)] {
        load.goes_on(3).await;
        cluster.server.stop();
        tokio::time::sleep(away).await;
        cluster.server.restart();
        load.goes_on(3).await;
    }
    let done = load.stop().await;
    cluster.check(&done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_steps_down_goes_on_listening_and_answers_what_was_under_way() {
    let server = PostgresServer::start();
    let proxy = BreakableProxy::start(format!("127.0.0.1:{}", server.port())).await.unwrap();
    let url = server.url_by(proxy.address().port(), &server.database());
    let cluster = Cluster::start_at(server, &url, 1, App::start(|_, _| Reply::Ok).await).await;
    let api = cluster.instances[0].api();
    let (stop, address) = (Arc::new(AtomicBool::new(false)), api.base.replace("http://", ""));
    let knocking = tokio::spawn({
        let stop = Arc::clone(&stop);
        async move {
            while !stop.load(Ordering::Relaxed) {
                tokio::net::TcpStream::connect(&address).await.expect("nobody is refused");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    });
    proxy.swallow();
    match api.post("/key-handshake", &json!({})).await {
        Err(CallError::Status(503, problem)) => assert_eq!(problem["code"], "no_active_instance", "{problem}"),
        other => panic!("{other:?}"),
    }
    let steps_down = async || cluster.instances[0].log().contains("starts over as a standby").then_some(());
    until("step down", steps_down).await;
    proxy.restore();
    cluster.until_active(0).await;
    stop.store(true, Ordering::Relaxed);
    knocking.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_at_a_promoted_replica() {
    let server = PostgresServer::start();
    let replica = server.start_replica();
    let database = server.database();
    // The replica has it when the next commit is acknowledged.
    server.psql("postgres", "CREATE TABLE replicated ()");
    let url = server.url(&database).replace("/test_", &format!(",127.0.0.1:{}/test_", replica.port()));
    // As operators of replicas write it.
    let url = format!("{url}&target_session_attrs=read-write");
    let mut cluster = Cluster::start_at(server, &url, 2, App::start(|_, _| Reply::Ok).await).await;
    let load = Load::start(&cluster, 2);
    load.goes_on(3).await;
    cluster.server.stop();
    replica.promote();
    load.goes_on(3).await;
    let done = load.stop().await;
    cluster.check(&done).await;
}
