//! Faulty and hostile clients, and a store that fails.

use std::time::Duration;

use futures_util::SinkExt as _;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

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
        let answer = client.ask("subscribe", json!({ "stream_id": stream })).await;
        assert_eq!(answer["error"]["code"], "stream_not_found", "{stream}");
    }
    // What nobody asks for is ignored.
    client.say(json!({ "id": "1", "cmd": "ping", "params": null, "more": 1 })).await;
    assert_eq!(client.hear().await, json!({ "id": "1", "type": "success", "data": {} }));
}

#[tokio::test]
async fn protocol_violations_close_the_socket_with_their_code() {
    let app = TestApp::start().await;
    let text = OpCode::Data(Data::Text);
    for (message, code) in [
        (Message::binary(b"{}".to_vec()), 1003),
        (Message::Frame(Frame::message(vec![0xff, 0xfe], text, true)), 1007),
        (Message::Frame(Frame::message(b"x".to_vec(), OpCode::Data(Data::Continue), true)), 1002),
        (Message::Frame(Frame::message(b"x".to_vec(), OpCode::Data(Data::Reserved(3)), true)), 1002),
        (Message::text("x".repeat(256 * 1024 + 1)), 1009),
    ] {
        let mut client = Client::open(&app).await;
        // It may be cut short: the service hangs up as soon as it has seen enough.
        let _ = client.stream.send(message.clone()).await;
        assert_eq!(client.end().await, code);
    }

    // In pieces that are small enough each.
    let mut client = Client::open(&app).await;
    let mut opcode = text;
    for _ in 0..5 {
        let _ = client.stream.send(Message::Frame(Frame::message(vec![b' '; 60_000], opcode, false))).await;
        opcode = OpCode::Data(Data::Continue);
    }
    assert_eq!(client.end().await, 1009);

    // A frame that is not masked, as clients must.
    let mut client = Client::open(&app).await;
    client.stream.get_mut().write_all(&[0x81, 2, b'{', b'}']).await.unwrap();
    assert_eq!(client.end().await, 1002);

    // A length that is announced, and never comes, is refused at once.
    let mut client = Client::open(&app).await;
    client
        .stream
        .get_mut()
        .write_all(&[0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
        .await
        .unwrap();
    assert_eq!(client.end().await, 1009);
}

#[tokio::test]
async fn largest_and_fragmented_messages_are_accepted() {
    let app = TestApp::start().await;
    let mut client = Client::open(&app).await;
    let empty = json!({ "id": "1", "cmd": "ping", "x": "" }).to_string();
    let padding = "x".repeat(256 * 1024 - empty.len());
    client.say(json!({ "id": "1", "cmd": "ping", "x": padding })).await;
    assert_eq!(client.hear().await["type"], "success");

    let text = json!({ "id": "2", "cmd": "ping" }).to_string();
    let mut opcode = OpCode::Data(Data::Text);
    for byte in text.bytes() {
        client.stream.send(Message::Frame(Frame::message(vec![byte], opcode, false))).await.unwrap();
        client.stream.send(Message::Ping(vec![byte].into())).await.unwrap();
        opcode = OpCode::Data(Data::Continue);
    }
    client.stream.send(Message::Frame(Frame::message(Vec::new(), opcode, true))).await.unwrap();
    assert_eq!(client.hear().await["id"], "2");
}

#[tokio::test]
async fn store_failure_is_reported_and_the_socket_stays_open() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    let mut client = Client::open(&app).await;
    client.subscribe(&stream, 0).await;
    app.scan(&token, key(1)).await;
    client.event(&stream).await;

    app.store.fail(REQUESTS, usize::MAX);
    let unknown = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11";
    let refused = client.ask("subscribe", json!({ "stream_id": unknown })).await;
    assert_eq!((&refused["error"]["code"], &refused["retry_after"]), (&json!("storage_unavailable"), &json!(5)));
    assert!(!refused.to_string().contains("s3cret"));
    let refused = client.ask("request", json!({ "method": "POST", "path": "/key-handshake" })).await;
    assert_eq!(refused["error"]["code"], "storage_unavailable");
    app.store.work();
    app.scan(&token, key(2)).await;
    assert_eq!(client.event(&stream).await.0, 1);

    // A panic is a fault of one call.
    app.store.panic(REQUESTS);
    let refused = client.ask("request", json!({ "method": "GET", "path": format!("/events/{unknown}") })).await;
    assert_eq!(refused["error"]["code"], "internal_error");
    app.store.work();
    client.done("ping", json!({})).await;
}

#[tokio::test]
async fn slow_reader_is_disconnected_with_a_reason_and_can_resume() {
    let mut builder = TestApp::builder();
    builder.limits.socket_send_timeout = Duration::from_millis(500);
    let app = builder.start().await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    for user in 1..=200 {
        app.scan(&token, key(user)).await;
    }
    // What it says when nobody listens any more may reset the connection, and the goodbye is lost with it; not always.
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
    // More than the system holds for somebody who does not read.
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
