//! A standby: it forwards to the active instance.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::response::IntoResponse as _;
use axum::routing::get;
use axum::{Extension, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_api::{ApiTokens, ForwardingKey, ServeOptions, StandbyParts, serve_standby};
use usher_engine::ClientNetwork;
use usher_engine::ports::OsRandomness;

use crate::app::{Builder, TOKEN, TestApp, key, read, stream_of, token_of, within};
use crate::sockets::client::Client;

const SECRET: [u8; 32] = [7; 32];

struct Standby {
    active: watch::Sender<Option<Arc<str>>>,
    database_failure: watch::Sender<Option<Arc<str>>>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Standby {
    async fn start(active: Option<SocketAddr>) -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (active, receiver) = watch::channel(active.map(|address| address.to_string().into()));
        let (database_failure, failure_receiver) = watch::channel(None);
        let parts = StandbyParts {
            tokens: ApiTokens::new(&TOKEN.into(), None),
            key: ForwardingKey::new(SECRET),
            body_bytes: 256 * 1024,
            active: receiver,
            database_failure: failure_receiver,
            page: Arc::new(|request| format!("one moment: {}", request.uri).into_response()),
            randomness: Arc::new(OsRandomness),
        };
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let serving = tokio::spawn(async move {
            serve_standby(&listener, parts, ServeOptions::default(), TaskTracker::new(), stopped).await;
        });
        (Self { active, database_failure, stop, serving }, address)
    }

    async fn stop(self) {
        self.stop.cancel();
        within(self.serving).await.unwrap();
    }
}

/// An active instance that is reached through a standby.
async fn behind_standby() -> (TestApp, Standby) {
    let serve = ServeOptions { forwarding: Some(ForwardingKey::new(SECRET)), ..ServeOptions::default() };
    let mut app = Builder { serve, ..TestApp::builder() }.start().await;
    let (standby, address) = Standby::start(Some(app.address)).await;
    app.address = address;
    (app, standby)
}

#[tokio::test]
async fn calls_events_and_sockets_work_through_a_standby() {
    let (app, standby) = behind_standby().await;
    let start = || app.post("/key-handshake").header("idempotency-key", "once").json(&json!({}));
    assert_eq!(start().send().await.unwrap().headers()["x-request-id"], "test");
    let (status, started) = read(start()).await;
    assert_eq!((status, &started), (200, &read(start()).await.1));
    let (stream, token) = (stream_of(&started), token_of(&started));

    let mut socket = Client::open(&app).await;
    socket.subscribe(&stream, 0).await;
    let mut without_token = Client::open_as_stranger(&app).await;
    without_token.done("auth", json!({ "token": TOKEN })).await;
    let mut live = app.sse(&format!("/events/{stream}")).send().await.unwrap();
    let poll = app.get(&format!("/events/{stream}?wait=30")).send();
    let (poll, ()) = tokio::join!(poll, app.scan(&token, key(9)));
    assert_eq!(poll.unwrap().json::<Value>().await.unwrap()["events"][0]["type"], "KeyHandshake");
    assert_eq!(socket.event(&stream).await.1["main_key"], key(9).to_hex());
    let mut text = String::new();
    while !text.contains("event: KeyHandshake") {
        text.push_str(std::str::from_utf8(&within(live.chunk()).await.unwrap().unwrap()).unwrap());
    }

    assert_eq!(read(app.http.get(app.url("/events/x"))).await.0, 401, "the token is checked by the active instance");
    let large = app.post("/key-handshake").body("x".repeat(300 * 1024)).header("content-type", "application/json");
    assert_eq!(large.send().await.unwrap().status(), 413);
    let ready = app.read("/health/ready").await;
    assert_eq!((&ready["instance"], &ready["relays"]["total"]), (&json!("standby"), &json!(3)));
    assert_eq!(app.http.get(app.url("/health")).send().await.unwrap().text().await.unwrap(), "OK");
    // Whoever is local to the standby is not local to the active instance.
    assert_eq!(app.http.get(app.url("/openapi.json")).send().await.unwrap().status(), 401);
    drop(live);
    standby.stop().await;
    app.stop().await;
}

#[tokio::test]
async fn without_an_active_instance_there_is_a_clear_error() {
    let (standby, address) = Standby::start(None).await;
    let http = reqwest::Client::new();
    let refused = async |path: &str| {
        let response = http.get(format!("http://{address}{path}")).bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers()["retry-after"].as_bytes()), (503, &b"1"[..]));
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], "no_active_instance", "{path}");
    };
    refused("/events/x").await;
    refused("/health/ready").await;
    assert_eq!(http.get(format!("http://{address}/health")).send().await.unwrap().status(), 200);

    let page = http.get(format!("http://{address}/login/x?y")).header("accept", "text/html,*/*;q=0.8");
    assert_eq!(page.send().await.unwrap().text().await.unwrap(), "one moment: /login/x?y");

    standby.database_failure.send_replace(Some("the database is away".into()));
    let ready = http.get(format!("http://{address}/health/ready"));
    let with_token = ready.try_clone().unwrap().bearer_auth(TOKEN).send().await.unwrap().text().await.unwrap();
    assert!(with_token.contains("the database is away"), "{with_token}");
    let without = ready.send().await.unwrap().text().await.unwrap();
    assert!(without.contains("no_active_instance") && !without.contains("the database is away"), "{without}");

    // Nobody listens there.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    standby.active.send_replace(Some(gone.to_string().into()));
    refused("/events/x").await;
    // A standby, which took the request for one of its own.
    standby.active.send_replace(Some(address.to_string().into()));
    refused("/events/x").await;
    standby.stop().await;
}

#[tokio::test]
async fn what_waits_for_a_former_active_instance_ends_when_another_becomes_active() {
    let (app, standby) = behind_standby().await;
    let (stream, _) = app.handshake(json!({})).await;
    let mut socket = Client::open(&app).await;
    socket.subscribe(&stream, 0).await;
    let mut live = app.sse(&format!("/events/{stream}")).send().await.unwrap();
    let poll = tokio::spawn(app.get(&format!("/events/{stream}?wait=60")).send());
    app.metric("usher_http_long_polls 1").await;
    standby.active.send_replace(None);
    let poll = within(poll).await.unwrap().unwrap();
    assert_eq!(poll.status(), 503);
    assert_eq!(poll.json::<Value>().await.unwrap()["code"], "no_active_instance");
    let mut cut = Ok(Some(Default::default()));
    while let Ok(Some(_)) = cut {
        cut = within(live.chunk()).await;
    }
    assert!(cut.is_err(), "a response that is not whole does not look whole");
    assert!(socket.hear_or_end().await.is_err());
    standby.stop().await;
    app.stop().await;
}

#[tokio::test]
async fn clients_cannot_pretend_to_be_forwarded() {
    let who = |Extension(visitor): Extension<ClientNetwork>| async move { format!("{visitor:?}") };
    let serve = ServeOptions { forwarding: Some(ForwardingKey::new(SECRET)), ..ServeOptions::default() };
    let pages = Router::new().route("/pages/who", get(who));
    let app = Builder { serve, pages, ..TestApp::builder() }.start().await;
    let (standby, address) = Standby::start(Some(app.address)).await;
    for address in [app.address, address] {
        for value in ["203.0.113.9", "203.0.113.9 00", &format!("203.0.113.9 {}", "0".repeat(64))] {
            let request = app.http.get(format!("http://{address}/pages/who")).header("usher-forwarded", value);
            assert_eq!(request.send().await.unwrap().text().await.unwrap(), "Loopback", "{address} {value}");
        }
    }
    standby.stop().await;
    app.stop().await;
}
