//! Requests sent as messages.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::response::Html;
use axum::{Router, routing};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::client::Client;
use crate::app::{REQUESTS, TestApp, key, pointers, read, until};

fn get(path: &str) -> Value {
    json!({ "method": "GET", "path": path })
}

#[tokio::test]
async fn errors_match_http() {
    let app = TestApp::start().await;
    let mut client = Client::open(&app).await;
    let upgrade = json!({
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    });
    for (params, code, status) in [
        (get("/nothing"), "route_not_found", 404),
        (json!({ "method": "DELETE", "path": "/version" }), "method_not_allowed", 405),
        (json!({ "method": "POST", "path": "/authenticate-key", "body": null }), "malformed_json", 400),
        (json!({ "method": "POST", "path": "/authenticate-key", "body": [] }), "invalid_request", 422),
        // Not itself, and no event streams.
        (get("/ws"), "upgrade_required", 426),
        (json!({ "method": "GET", "path": "/ws", "headers": upgrade }), "upgrade_required", 426),
    ] {
        let answer = client.refused("request", params.clone(), code).await;
        assert_eq!(answer["error"]["status"], status, "{params}");
        assert!(!answer["error"]["request_id"].as_str().unwrap().is_empty());
    }
    let endless = client.ask("request", get("/events")).await;
    assert_eq!(endless["error"]["errors"][0]["pointer"], "/params/path", "{endless}");
    let headers = json!({ "Accept": "text/event-stream", "Authorization": "Bearer wrong" });
    let stream = json!({ "method": "GET", "path": "/events/subscriptions", "headers": headers });
    assert_eq!(client.done("request", stream).await["done"], false);

    let wrong = json!({ "method": "POST", "path": "/authenticate-key", "body": { "main_key": 1, "subkeys": [2] },
        "headers": { "x-request-id": "order-42" } });
    let answer = client.ask("request", wrong).await;
    assert_eq!(answer["error"]["request_id"], "order-42");
    assert_eq!(answer["error"]["errors"][1]["pointer"], "/subkeys/0", "into the call's body, as over HTTP");
}

#[tokio::test]
async fn pages_for_browsers_are_not_reached() {
    let opened = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&opened);
    let mut builder = TestApp::builder();
    let page = async move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Html("<!DOCTYPE html>")
    };
    builder.pages = Router::new().route("/login/{id}/{secret}", routing::get(page.clone()).post(page));
    let app = builder.start().await;
    let page = app.http.get(app.url("/login/a/b")).send().await.unwrap();
    assert_eq!((page.status(), page.text().await.unwrap().as_str()), (StatusCode::OK, "<!DOCTYPE html>"));
    let mut client = Client::open(&app).await;
    for method in ["GET", "POST"] {
        client.refused("request", json!({ "method": method, "path": "/login/a/b" }), "route_not_found").await;
    }
    assert_eq!(opened.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let app = TestApp::start().await;
    let mut client = Client::open(&app).await;
    for (params, expected) in [
        (json!({}), &["/params/method", "/params/path"][..]),
        (json!({ "method": "", "path": "version" }), &["/params/method", "/params/path"]),
        (json!({ "method": "G T", "path": "/a b" }), &["/params/method", "/params/path"]),
        (json!({ "method": "GET", "path": "http://elsewhere.example/" }), &["/params/path"]),
        (json!({ "method": "GET", "path": "/version", "headers": [] }), &["/params/headers"]),
        (
            json!({ "method": "GET", "path": "/version", "headers": { "Idempotency-Key": 1, "X-Request-Id": "a\nb" } }),
            &["/params/headers/idempotency-key", "/params/headers/x-request-id"],
        ),
    ] {
        let answer = client.refused("request", params.clone(), "invalid_request").await;
        assert_eq!(pointers(&answer["error"]), expected, "{params}");
    }
}

#[tokio::test]
async fn requests_run_concurrently_and_do_not_delay_events() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    let mut client = Client::open(&app).await;
    client.subscribe(&stream, 0).await;
    let poll = get(&format!("/events/{stream}?after=1&wait=60"));
    client.say(json!({ "id": "long", "cmd": "request", "params": poll })).await;
    client.done("request", get("/version")).await;
    app.scan(&token, key(1)).await;
    assert_eq!(client.event(&stream).await.0, 0);
    app.scan(&token, key(2)).await;
    // Both report the same event, in either order.
    let (one, two) = (client.hear().await, client.hear().await);
    let (polled, pushed) = if one["id"] == "long" { (one, two) } else { (two, one) };
    assert_eq!(polled["data"]["events"][0]["data"], pushed["data"]);
}

#[tokio::test]
async fn concurrent_requests_are_limited() {
    let app = TestApp::with(|of| of.limits.calls_per_socket = 3).await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    let mut client = Client::open(&app).await;
    let poll = get(&format!("/events/{stream}?wait=60"));
    for id in ["a", "b", "c"] {
        client.say(json!({ "id": id, "cmd": "request", "params": poll })).await;
    }
    assert_eq!(client.refused("request", poll.clone(), "overloaded").await["retry_after"], 5);
    client.done("ping", json!({})).await;
    app.scan(&token, key(1)).await;
    let mut answered = HashSet::new();
    for _ in 0..3 {
        answered.insert(client.hear().await["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(answered, ["a", "b", "c"].map(str::to_owned).into());
    client.done("request", poll).await;
}

#[tokio::test]
async fn requests_and_watches_count_towards_the_rate_limit() {
    let app = TestApp::with(|of| of.limits.requests_per_second = NonZeroU32::new(3)).await;
    // Opening it is one.
    let mut client = Client::open(&app).await;
    client.done("request", get("/version")).await;
    client.subscribe("subscriptions", 0).await;
    for (cmd, params) in [("request", get("/version")), ("subscribe", json!({ "stream_id": "subscriptions" }))] {
        assert_eq!(client.refused(cmd, params, "rate_limited").await["retry_after"], 1);
    }
    client.done("ping", json!({})).await;
}

#[tokio::test]
async fn request_continues_after_a_disconnect() {
    let app = TestApp::start().await;
    let before = app.engine.open_streams();
    app.store.hold(REQUESTS);
    let asked = app.store.calls(REQUESTS);
    let mut client = Client::open(&app).await;
    client.say(json!({ "id": "1", "cmd": "request", "params": { "method": "POST", "path": "/key-handshake" } })).await;
    app.store.called_more_than(REQUESTS, asked).await;
    drop(client);
    app.store.work();
    until(async || app.engine.open_streams() == before + 1).await;
    app.stop().await;
}

#[tokio::test]
async fn idempotency_key_is_shared_by_http_and_websocket() {
    let app = TestApp::start().await;
    let before = app.engine.open_streams();
    let mut client = Client::open(&app).await;
    let params = json!({
        "method": "POST", "path": "/key-handshake", "body": {}, "headers": { "Idempotency-Key": "\"k\"" },
    });
    let first = client.ask("request", params.clone()).await;
    assert_eq!((&first["type"], first.get("replayed")), (&json!("success"), None));
    drop(client);
    let mut client = Client::open(&app).await;
    let again = client.ask("request", params).await;
    assert_eq!((&again["data"], &again["replayed"]), (&first["data"], &json!(true)));
    let over_http = read(app.post("/key-handshake").header("idempotency-key", "k").json(&json!({}))).await;
    assert_eq!(over_http, (200, first["data"].clone()));
    let other = json!({
        "method": "POST", "path": "/key-handshake", "body": { "no_request": true },
        "headers": { "idempotency-key": "k" },
    });
    client.refused("request", other, "idempotency_key_reused").await;
    assert_eq!(app.engine.open_streams(), before + 1);
}
