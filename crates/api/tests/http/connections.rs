//! Faulty and hostile HTTP clients.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::app::{TestApp, until, within};
use crate::raw_client::{Raw, head};

#[tokio::test]
async fn missing_or_slow_request_head_closes_the_connection() {
    let app = TestApp::with(|of| of.serve.first_request_timeout = Duration::from_millis(200)).await;
    let mut silent = Raw::connect(&app).await;
    let mut half = Raw::sending(&app, "GET /version HTT").await;
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
    let app = TestApp::with(|of| of.serve.idle_timeout = Duration::from_secs(3)).await;
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
    let path = format!("/{}", "a".repeat(70_000));
    for (target, more) in [
        ("/version", format!("X-Large: {}\r\n", "x".repeat(100_000))),
        ("/version", "X: y\r\n".repeat(200)),
        (path.as_str(), String::new()),
    ] {
        let mut raw = Raw::sending(&app, &format!("{}{more}\r\n", head("GET", target))).await;
        assert!([414, 431].contains(&raw.answer().await.unwrap().status));
        raw.closed().await;
    }
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
        let answer = Raw::ask(&app, &format!("{}\r\n", head(method, target))).await;
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
    let mut raw = Raw::sending(&app, &format!("{}\r\n", head("GET", &format!("/events/{stream}?wait=60")))).await;
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
        let head = head("POST", "/key-handshake");
        let mut raw = Raw::sending(&app, &format!("{head}Content-Type: application/json\r\n{body}")).await;
        raw.0.shutdown().await.unwrap();
        let said = String::from_utf8(raw.closed().await).unwrap();
        assert!(!said.starts_with("HTTP/1.1 200"), "{said}");
    }
    assert_eq!(app.engine.open_streams(), 1, "the reserved stream alone");
}

#[tokio::test]
async fn connections_are_limited() {
    let app = TestApp::with(|of| of.serve.max_connections = 2).await;
    let request = format!("{}\r\n", head("GET", "/version"));
    let with_the_token = async || {
        let mut raw = Raw::sending(&app, &request).await;
        assert_eq!(raw.answer().await.unwrap().status, 200);
        raw
    };
    let (first, _second) = (with_the_token().await, with_the_token().await);
    let answer = Raw::ask(&app, &request).await;
    assert!(answer.status == 503 && answer.body.contains("\"code\":\"overloaded\""), "{answer:?}");
    assert_eq!((answer.header("retry-after"), answer.header("connection")), (Some("5"), Some("close")));
    drop(first);
    // The place is free as soon as the service has seen the other side go.
    until(async || {
        let mut raw = Raw::sending(&app, &request).await;
        raw.answer().await.is_some_and(|answer| answer.status == 200)
    })
    .await;
}

#[tokio::test]
async fn client_that_reads_nothing_is_disconnected() {
    let app = TestApp::with(|of| of.serve.write_timeout = Duration::from_millis(300)).await;
    let (_unread, mut writer) = Raw::connect(&app).await.0.into_split();
    let requests = "GET /health HTTP/1.1\r\nHost: test\r\n\r\n".repeat(1_000);
    // Answers pile up until nothing more fits; then the service must not wait for long.
    let cut = async { while writer.write_all(requests.as_bytes()).await.is_ok() {} };
    within(cut).await;
    app.stop().await;
}
