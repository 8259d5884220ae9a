//! Faulty and hostile clients, and a store that fails.

use std::time::Duration;

use futures_util::SinkExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::client::Client;
use crate::app::{REQUESTS, TIMEOUT, TestApp, key};

#[tokio::test]
async fn invalid_commands_get_errors_and_the_socket_stays_open() {
    let app = TestApp::start().await;
    let mut client = Client::open(&app).await;
    let long = "x".repeat(129);
    let deep = "[".repeat(1_000);
    for (text, code) in [
        ("", "malformed_json"),
        ("x", "malformed_json"),
        ("{\"id\":\"1\"", "malformed_json"),
        (r#"{"id":"1","cmd":"ping","id":"2"}"#, "malformed_json"),
        (&deep, "malformed_json"),
        ("null", "invalid_request"),
        ("[{\"id\":\"1\",\"cmd\":\"ping\"}]", "invalid_request"),
        ("{}", "invalid_request"),
        ("{\"cmd\":\"ping\"}", "invalid_request"),
        ("{\"id\":1,\"cmd\":\"ping\"}", "invalid_request"),
        ("{\"id\":\"\",\"cmd\":\"ping\"}", "invalid_request"),
        (&format!("{{\"id\":\"{long}\",\"cmd\":\"ping\"}}"), "invalid_request"),
    ] {
        client.say_text(text).await;
        let answer = client.hear().await;
        assert_eq!((&answer["type"], &answer["id"]), (&json!("error"), &json!(null)), "{text}");
        assert_eq!(answer["error"]["code"], code, "{text}");
    }
    let subscribe = |params: serde_json::Value| json!({ "id": "ü\"\n", "cmd": "subscribe", "params": params });
    for (message, pointer) in [
        (subscribe(json!({ "stream_id": 7 })), "/params/stream_id"),
        (subscribe(json!({ "stream_id": "subscriptions", "after": -1 })), "/params/after"),
        (subscribe(json!({ "stream_id": "subscriptions", "after": 9_007_199_254_740_992_u64 })), "/params/after"),
        (json!({ "id": "ü\"\n", "cmd": "explode" }), "/cmd"),
        (json!({ "id": "ü\"\n" }), "/cmd"),
        (json!({ "id": "ü\"\n", "cmd": ["ping"] }), "/cmd"),
        (json!({ "id": "ü\"\n", "cmd": "ping", "params": "x" }), "/params"),
    ] {
        client.say(message.clone()).await;
        let answer = client.hear().await;
        assert_eq!(answer["id"], "ü\"\n", "{message}");
        assert_eq!(answer["error"]["errors"][0]["pointer"], pointer, "{message}");
    }
    for stream in ["01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11", "nonsense", "", "00000000-0000-0000-0000-000000000000"] {
        client.refused("subscribe", json!({ "stream_id": stream }), "stream_not_found").await;
    }
    // Unknown members are ignored.
    client.say(json!({ "id": "1", "cmd": "ping", "params": null, "more": 1 })).await;
    assert_eq!(client.hear().await, json!({ "id": "1", "type": "success", "data": {} }));
}

#[tokio::test]
async fn protocol_violations_close_the_socket_with_their_code() {
    let app = TestApp::start().await;
    let most = 256 * 1024;
    let text = |size: usize| json!({ "id": "1", "cmd": "ping", "x": "x".repeat(size - 30) }).to_string();
    let mut client = Client::open(&app).await;
    assert_eq!(text(most).len(), most);
    client.say_text(&text(most)).await;
    assert_eq!(client.hear().await["type"], "success");
    // A frame that is masked with zeros: its first byte, and the length as it is written.
    let frame = |first: u8, length: &[u8], content: &[u8]| [&[first], length, &[0; 4], content].concat();
    let piece = |first: u8| frame(first, &[0xfe, 0xea, 0x60], &[b' '; 60_000]);
    for (case, bytes, code) in [
        ("binary", frame(0x82, &[0x82], b"{}"), 1003),
        ("no UTF-8", frame(0x81, &[0x82], &[0xff, 0xfe]), 1007),
        ("no beginning", frame(0x80, &[0x81], b"x"), 1002),
        ("a reserved kind", frame(0x83, &[0x81], b"x"), 1002),
        ("not masked, as clients must", vec![0x81, 2, b'{', b'}'], 1002),
        ("too long", frame(0x81, &[0xff, 0, 0, 0, 0, 0, 4, 0, 1], text(most + 1).as_bytes()), 1009),
        ("too long, in pieces", [piece(0x01), piece(0x00), piece(0x00), piece(0x00), piece(0x00)].concat(), 1009),
        ("a length that never comes", frame(0x81, &[0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255], b""), 1009),
    ] {
        let mut client = Client::open(&app).await;
        client.say_raw(&bytes).await;
        assert_eq!(client.end().await, code, "{case}");
    }
}

#[tokio::test]
async fn store_failure_is_reported_and_the_socket_stays_open() {
    let app = TestApp::start().await;
    let (stream, token) = app.poster("poster", 1).await;
    let mut client = Client::open(&app).await;
    client.subscribe(&stream, 0).await;
    client.event(&stream).await;

    app.store.fail(REQUESTS, usize::MAX);
    let unknown = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11";
    let refused = client.refused("subscribe", json!({ "stream_id": unknown }), "storage_unavailable").await;
    assert!(refused["retry_after"] == 5 && !refused.to_string().contains("s3cret"));
    let start = json!({ "method": "POST", "path": "/key-handshake" });
    client.refused("request", start, "storage_unavailable").await;
    app.store.work();
    app.scan(&token, key(2)).await;
    assert_eq!(client.event(&stream).await.0, 1);

    // A panic is a fault of one call.
    app.store.panic(REQUESTS);
    let get = json!({ "method": "GET", "path": format!("/events/{unknown}") });
    client.refused("request", get, "internal_error").await;
    app.store.work();
    client.done("ping", json!({})).await;
}

#[tokio::test]
async fn slow_reader_is_disconnected_with_a_reason_and_can_resume() {
    let app = TestApp::with(|of| of.limits.socket_send_timeout = Duration::from_millis(500)).await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    for user in 1..=200 {
        app.scan(&token, key(user)).await;
    }
    // A message to a closed socket may reset the connection, and the close frame is sometimes lost with it.
    let told = async {
        loop {
            match stall(&app, &stream).await {
                Some((code, reason)) => return assert!(code == 4008 && reason.contains("`after`"), "{code} {reason}"),
                None => eprintln!("the goodbye was lost"),
            }
        }
    };
    tokio::time::timeout(TIMEOUT, told).await.unwrap();
    let mut client = Client::open(&app).await;
    client.subscribe(&stream, 199).await;
    assert_eq!(client.event(&stream).await.0, 199);
}

/// Asks for a stream over and over and reads nothing for a while; gives the close code and reason.
async fn stall(app: &TestApp, stream: &str) -> Option<(u16, String)> {
    let mut client = Client::open_narrow(app).await;
    let params = json!({ "method": "GET", "path": format!("/events/{stream}") });
    let request = json!({ "id": "s", "cmd": "request", "params": params }).to_string();
    // More than the system buffers for a client that does not read.
    let flood = async {
        while client.stream.send(Message::text(request.clone())).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(5), flood).await;
    loop {
        if let Err(end) = client.hear_or_end().await {
            return end;
        }
    }
}
