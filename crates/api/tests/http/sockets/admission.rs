//! Authentication and limits of WebSockets.

use std::time::Duration;

use futures_util::SinkExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::client::Client;
use crate::app::{TOKEN, TestApp, until};
use crate::raw_client::{Raw, head};

#[tokio::test]
async fn authorization_header_is_accepted_and_a_wrong_one_is_401() {
    let app = TestApp::start().await;
    Client::open(&app).await.done("ping", json!({})).await;
    for wrong in ["Bearer wrong", "Bearer ", "Basic eDp5", "", TOKEN] {
        assert_eq!(Client::try_open(app.address, Some(wrong)).await.err(), Some(401), "{wrong}");
    }
}

#[tokio::test]
async fn commands_may_follow_the_token_without_waiting() {
    let app = TestApp::start().await;
    let mut client = Client::open_as_stranger(&app).await;
    client.feed(json!({ "id": "a", "cmd": "auth", "params": { "token": TOKEN } })).await;
    // More than an unauthenticated client may send.
    for number in 0..1_000 {
        client.feed(json!({ "id": number.to_string(), "cmd": "ping" })).await;
    }
    client.stream.flush().await.unwrap();
    assert_eq!(client.hear().await, json!({ "id": "a", "type": "success", "data": {} }));
    for number in 0..1_000 {
        assert_eq!(client.hear().await["id"], number.to_string());
    }
    let version = client.done("request", json!({ "method": "GET", "path": "/version" })).await;
    assert_eq!(version["version"], "1.2.3");
    // Saying it again does no harm.
    client.done("auth", json!({ "token": TOKEN })).await;
}

#[tokio::test]
async fn other_first_messages_are_refused_and_close_the_socket() {
    let app = TestApp::start().await;
    for (message, id) in [
        (json!({ "id": "x", "cmd": "auth", "params": { "token": "wrong" } }), json!("x")),
        (json!({ "id": "x", "cmd": "auth", "params": { "token": "" } }), json!("x")),
        (json!({ "id": "x", "cmd": "auth" }), json!("x")),
        (json!({ "id": "x", "cmd": "ping" }), json!("x")),
        (json!({ "id": "x", "cmd": "subscribe", "params": { "stream_id": "subscriptions" } }), json!("x")),
        (json!({ "id": "x", "cmd": "request", "params": { "method": "GET", "path": "/version" } }), json!("x")),
        (json!({ "cmd": "auth", "params": { "token": TOKEN } }), json!(null)),
        (json!([]), json!(null)),
    ] {
        let mut client = Client::open_as_stranger(&app).await;
        client.say(message.clone()).await;
        let answer = client.hear().await;
        assert_eq!((&answer["type"], &answer["id"]), (&json!("error"), &id), "{message}");
        assert_eq!(answer["error"]["code"], "unauthorized", "{message}");
        assert_eq!(client.end().await, 4001, "{message}");
    }
    // An authenticated client is disconnected as well if it sends a wrong token.
    let mut client = Client::open(&app).await;
    client.refused("auth", json!({ "token": "wrong" }), "unauthorized").await;
    assert_eq!(client.end().await, 4001);
}

#[tokio::test]
async fn unauthenticated_sockets_are_limited_in_time_and_bytes() {
    let app = TestApp::with(|of| of.limits.socket_auth_timeout = Duration::from_millis(200)).await;
    let mut silent = Client::open_as_stranger(&app).await;
    assert_eq!(silent.end().await, 4001);

    let patient = TestApp::with(|of| of.limits.socket_auth_timeout = Duration::from_secs(3_600)).await;
    // A message of a size that is allowed after authentication; and pings, which do not extend the time. Sending may fail.
    let mut talkative = [Client::open_as_stranger(&patient).await, Client::open_as_stranger(&patient).await];
    let _ = talkative[0].stream.send(Message::text("x".repeat(200_000))).await;
    for _ in 0..100 {
        let _ = talkative[1].stream.send(Message::Ping(vec![7; 100].into())).await;
    }
    for client in &mut talkative {
        assert!(client.hear_or_end().await.unwrap_err().is_none_or(|(code, _)| code == 1009));
    }
    drop((silent, talkative));
    patient.stop().await;
}

#[tokio::test]
async fn invalid_handshakes_are_refused() {
    let app = TestApp::start().await;
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let good = format!("{upgrade}Sec-WebSocket-Version: 13\r\n");
    for (method, headers, status, told) in [
        ("GET", String::new(), 426, ("upgrade", "websocket")),
        ("GET", format!("{upgrade}Sec-WebSocket-Version: 8\r\n"), 426, ("sec-websocket-version", "13")),
        ("HEAD", good.clone(), 426, ("upgrade", "websocket")),
        ("POST", good.clone(), 405, ("allow", "GET,HEAD")),
        ("GET", good.clone(), 101, ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")),
    ] {
        let mut raw = Raw::sending(&app, &format!("{}{headers}\r\n", head(method, "/ws"))).await;
        let text = raw.until("\r\n\r\n").await.unwrap();
        assert_eq!(text.split(' ').nth(1), Some(status.to_string().as_str()), "{method} {headers}");
        assert!(text.to_lowercase().contains(&format!("{}: {}\r\n", told.0, told.1.to_lowercase())), "{text}");
        assert!(text.to_lowercase().contains("x-request-id: "), "{text}");
    }
    // Without the token, a request that is no valid handshake gets a plain 401.
    for method in ["GET", "POST", "DELETE"] {
        assert_eq!(Raw::ask(&app, &format!("{method} /ws HTTP/1.1\r\nHost: test\r\n\r\n")).await.status, 401);
    }
}

#[tokio::test]
async fn sockets_are_limited_and_permits_are_released() {
    let app = TestApp::with(|of| of.limits.max_websockets = 2).await;
    let (mut first, second) = (Client::open(&app).await, Client::open(&app).await);
    let refused = app.get("/ws").header("connection", "upgrade").header("upgrade", "websocket");
    let refused = refused.header("sec-websocket-version", "13").header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let refused = refused.send().await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (503, "5"));
    assert!(refused.text().await.unwrap().contains("limits.max_websockets is reached"));
    assert_eq!(app.get("/version").send().await.unwrap().status(), 200, "calls go on");
    first.done("ping", json!({})).await;
    drop(second);
    until(async || Client::try_open(app.address, Some(&format!("Bearer {TOKEN}"))).await.is_ok()).await;
}
