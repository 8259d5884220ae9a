//! Shutdown of the service: requests, long polls and event streams.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::app::{REQUESTS, TestApp, within};
use crate::raw_client::{Raw, head};
use crate::sockets::client::Client;

#[tokio::test]
async fn shutdown_ends_long_polls_and_event_streams_at_once() {
    let app = TestApp::start().await;
    let (stream, _) = app.handshake(json!({})).await;
    let mut polling = Raw::sending(&app, &format!("{}\r\n", head("GET", &format!("/events/{stream}?wait=60")))).await;
    let feed = app.sse(&format!("/events/{stream}")).send().await.unwrap();
    let before = std::time::Instant::now();
    app.metric("usher_http_long_polls 1").await;
    app.stop.cancel();
    let answer = polling.answer().await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"events":[],"next":0,"done":false}"#));
    assert_eq!(answer.header("connection"), Some("close"), "the client comes back on a new connection");
    assert_eq!(within(feed.text()).await.unwrap(), ":\n\n", "an opening comment, and a proper end");
    app.stop().await;
    assert!(before.elapsed() < Duration::from_secs(50), "nobody waited for the 60 seconds to pass");
}

#[tokio::test]
async fn shutdown_finishes_running_requests_and_accepts_no_new_ones() {
    let app = TestApp::start().await;
    let mut idle = Raw::sending(&app, &format!("{}\r\n", head("GET", "/version"))).await;
    assert_eq!(idle.answer().await.unwrap().status, 200);

    app.store.hold(REQUESTS);
    let asked = app.store.calls(REQUESTS);
    let call = tokio::spawn(app.post("/key-handshake").json(&json!({})).send());
    app.store.called_more_than(REQUESTS, asked).await;
    app.stop.cancel();
    assert!(idle.closed().await.is_empty(), "idle connections are closed");
    within(async { while TcpStream::connect(app.address).await.is_ok() {} }).await;
    assert!(!app.server.is_finished(), "a call runs");
    app.store.work();
    let response = within(call).await.unwrap().unwrap();
    assert_eq!(response.status(), 200);
    let body: Value = response.json().await.unwrap();
    assert!(body["stream_id"].is_string());
    app.stop().await;
}

#[tokio::test]
async fn unfinished_requests_are_aborted_after_the_grace_period() {
    let app = TestApp::with(|of| of.serve.grace = Duration::from_millis(200)).await;
    let mut half = Raw::sending(&app, "GET /version HTT").await;
    app.store.hold(REQUESTS);
    let asked = app.store.calls(REQUESTS);
    let call = tokio::spawn(app.post("/key-handshake").json(&json!({})).send());
    app.store.called_more_than(REQUESTS, asked).await;
    let mut socket = Client::open(&app).await;
    let post = json!({ "method": "POST", "path": "/key-handshake" });
    socket.say(json!({ "id": "c", "cmd": "request", "params": post })).await;
    app.store.called_more_than(REQUESTS, asked + 1).await;
    app.stop.cancel();
    half.closed().await;
    assert!(within(call).await.unwrap().is_err(), "cut without an answer");
    assert_eq!(socket.hear_or_end().await, Err(None));
    // The change continues, and the task tracker waits for it.
    app.store.work();
    app.stop().await;
}
