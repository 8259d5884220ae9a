//! Faulty and hostile HTTP clients.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::app::{TestApp, within};
use crate::raw_client::{Raw, head};

#[tokio::test]
async fn missing_or_slow_request_head_closes_the_connection() {
    let mut builder = TestApp::builder();
    builder.serve.first_request_timeout = Duration::from_millis(200);
    let app = builder.start().await;
    let mut silent = Raw::connect(&app).await;
    let mut half = Raw::connect(&app).await;
    half.send("GET /version HTT").await;
    let (mut reader, mut writer) = Raw::connect(&app).await.0.into_split();
    let dripping = tokio::spawn(async move {
        for byte in "GET /health HTTP/1.1\r\nX: ".bytes().chain(std::iter::repeat(b'x')) {
            if writer.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(silent.closed().await.is_empty());
    half.closed().await;
    let _ = within(tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut Vec::new())).await;
    within(dripping).await.unwrap();
}

#[tokio::test]
async fn idle_connection_is_closed() {
    let mut builder = TestApp::builder();
    builder.serve.idle_timeout = Duration::from_millis(300);
    let app = builder.start().await;
    let mut raw = Raw::connect(&app).await;
    for _ in 0..3 {
        raw.send(&format!("{}\r\n", head("GET", "/version"))).await;
        assert_eq!(raw.answer().await.unwrap().status, 200);
    }
    raw.closed().await;
}

#[tokio::test]
async fn oversized_head_is_431() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    raw.send(&format!("{}X-Large: {}\r\n\r\n", head("GET", "/version"), "x".repeat(100_000))).await;
    let answer = raw.answer().await.unwrap();
    assert_eq!(answer.status, 431);
    raw.closed().await;

    let mut raw = Raw::connect(&app).await;
    raw.send(&format!("{}{}\r\n", head("GET", "/version"), "X: y\r\n".repeat(200))).await;
    assert_eq!(raw.answer().await.unwrap().status, 431);

    let mut raw = Raw::connect(&app).await;
    raw.send(&format!("{}\r\n", head("GET", &format!("/{}", "a".repeat(70_000))))).await;
    assert!([414, 431].contains(&raw.answer().await.unwrap().status));
}

#[tokio::test]
async fn unusual_request_targets() {
    let app = TestApp::start().await;
    for (method, target, status) in [
        ("OPTIONS", "*", 404),
        ("CONNECT", "example.com:443", 404),
        ("GET", "http://elsewhere.example/version", 200),
        ("GET", "/version?", 200),
        ("GET", "/version?a=%FF&%", 200),
        ("GET", "/events/subscriptions?after=0%00", 422),
        ("GET", "/events/subscriptions?after=\u{e9}", 422),
        ("GET", "/events/%", 404),
    ] {
        let mut raw = Raw::connect(&app).await;
        raw.send(&format!("{}\r\n", head(method, target))).await;
        let answer = raw.answer().await.unwrap();
        assert_eq!(answer.status, status, "{method} {target}");
        assert!(answer.header("x-request-id").is_some());
    }
}

#[tokio::test]
async fn unread_body_is_not_parsed_as_a_request() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    let smuggled = format!("{}\r\n", head("POST", "/key-handshake"));
    // The body, which no handler reads, looks like a request.
    raw.send(&format!("{}Content-Length: {}\r\n\r\n{smuggled}", head("POST", "/nothing"), smuggled.len())).await;
    assert_eq!(raw.answer().await.unwrap().status, 404);
    raw.send(&format!("{}\r\n", head("GET", "/version"))).await;
    let answer = raw.answer().await.unwrap();
    assert!(answer.body.contains("version"), "{answer:?}");
    assert_eq!(app.engine.open_streams(), 1, "the reserved stream alone");
}

#[tokio::test]
async fn long_poll_ends_when_its_client_has_gone() {
    let app = TestApp::start().await;
    let (stream, _) = app.handshake(json!({})).await;
    let mut raw = Raw::connect(&app).await;
    raw.send(&format!("{}\r\n", head("GET", &format!("/events/{stream}?wait=60")))).await;
    raw.0.shutdown().await.unwrap();
    raw.closed().await;
    app.stop().await;
}

#[tokio::test]
async fn truncated_body_starts_no_operation() {
    let app = TestApp::start().await;
    for body in [
        "Content-Length: 200\r\n\r\n{\"no",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut raw = Raw::connect(&app).await;
        raw.send(&format!("{}Content-Type: application/json\r\n{body}", head("POST", "/key-handshake"))).await;
        raw.0.shutdown().await.unwrap();
        let said = String::from_utf8(raw.closed().await).unwrap();
        assert!(!said.starts_with("HTTP/1.1 200"), "{said}");
    }
    assert_eq!(app.engine.open_streams(), 1, "the reserved stream alone");
}

#[tokio::test]
async fn connections_are_limited() {
    let mut builder = TestApp::builder();
    builder.serve.max_connections = 2;
    let app = builder.start().await;
    let with_the_token = async || {
        let mut raw = Raw::connect(&app).await;
        raw.send(&format!("{}\r\n", head("GET", "/version"))).await;
        assert_eq!(raw.answer().await.unwrap().status, 200);
        raw
    };
    let (first, _second) = (with_the_token().await, with_the_token().await);
    let mut third = Raw::connect(&app).await;
    third.send(&format!("{}\r\n", head("GET", "/version"))).await;
    let answer = third.answer().await.unwrap();
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(answer.body.contains("\"code\":\"overloaded\""));
    drop(first);
    // The place is free as soon as the service has seen the other side go.
    within(async {
        loop {
            let mut raw = Raw::connect(&app).await;
            raw.send(&format!("{}\r\n", head("GET", "/version"))).await;
            if raw.answer().await.is_some_and(|answer| answer.status == 200) {
                return;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn client_that_reads_nothing_is_disconnected() {
    let mut builder = TestApp::builder();
    builder.serve.write_timeout = Duration::from_millis(300);
    let app = builder.start().await;
    let raw = Raw::connect(&app).await;
    let (_unread, mut writer) = raw.0.into_split();
    let requests = "GET /health HTTP/1.1\r\nHost: test\r\n\r\n".repeat(1_000);
    // Answers pile up until nothing more fits; then the service must not wait for long.
    let cut = async { while writer.write_all(requests.as_bytes()).await.is_ok() {} };
    within(cut).await;
    app.stop().await;
}
