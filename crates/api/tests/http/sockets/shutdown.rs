//! Shutdown of the service: open WebSockets.

use serde_json::json;

use super::client::Client;
use crate::app::{REQUESTS, TestApp};

#[tokio::test]
async fn shutdown_notifies_clients_and_finishes_running_requests() {
    let app = TestApp::start().await;
    let (stream, _) = app.handshake(json!({})).await;
    let mut idle = Client::open(&app).await;
    idle.subscribe(&stream, 0).await;
    let mut stranger = Client::open_as_stranger(&app).await;
    let mut polling = Client::open(&app).await;
    let poll = json!({ "method": "GET", "path": format!("/events/{stream}?wait=60") });
    polling.say(json!({ "id": "p", "cmd": "request", "params": poll })).await;
    polling.done("ping", json!({})).await;
    let mut calling = Client::open(&app).await;
    app.store.hold(REQUESTS);
    let asked = app.store.calls(REQUESTS);
    calling.say(json!({ "id": "c", "cmd": "request", "params": { "method": "POST", "path": "/key-handshake" } })).await;
    app.store.called_more_than(REQUESTS, asked).await;

    app.stop.cancel();
    assert_eq!(idle.end().await, 1001);
    assert_eq!(stranger.end().await, 1001);
    assert_eq!(polling.hear().await["data"], json!({ "events": [], "next": 0, "done": false }));
    assert_eq!(polling.end().await, 1001);
    assert!(!app.server.is_finished(), "a call runs");
    app.store.work();
    assert_eq!(calling.hear().await["type"], "success");
    assert_eq!(calling.end().await, 1001);
    drop((idle, stranger, polling, calling));
    app.stop().await;
}
