//! Faulty and hostile HTTP clients.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::app::{TestApp, eventually, within};
use crate::raw_client::{Raw, head};

#[tokio::test]
async fn missing_request_head_closes_the_connection() {
    let mut builder = TestApp::builder();
    builder.serve.first_request_timeout = Duration::from_millis(200);
    let app = builder.start().await;
    let mut silent = Raw::connect(&app).await;
    let mut half = Raw::connect(&app).await;
    half.send("GET /version HTT").await;
    assert!(silent.closed().await.is_empty());
    half.closed().await;
    app.stop().await;
}

#[tokio::test]
async fn slow_request_head_closes_the_connection() {
    let mut builder = TestApp::builder();
    builder.serve.first_request_timeout = Duration::from_millis(300);
    let app = builder.start().await;
    let raw = Raw::connect(&app).await;
    let (mut reader, mut writer) = raw.0.into_split();
    let dripping = tokio::spawn(async move {
        for byte in "GET /health HTTP/1.1\r\nX: ".bytes().chain(std::iter::repeat(b'x')) {
            if writer.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut rest = Vec::new();
    let _ = within(tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut rest)).await;
    within(dripping).await.unwrap();
    app.stop().await;
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
    app.stop().await;
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
    app.stop().await;
}

#[tokio::test]
async fn input_that_is_not_http_is_refused() {
    let app = TestApp::start().await;
    for text in [
        "\r\n\r\n\u{16}\u{3}\u{1}\u{2}\u{0}\r\n\r\n",
        "GET\r\n\r\n",
        "GET /version HTTP/9.9\r\n\r\n",
        "GET /version HTTP/1.1\r\nNo colon\r\n\r\n",
        "POST /key-handshake HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST /key-handshake HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut raw = Raw::connect(&app).await;
        raw.send(text).await;
        let said = String::from_utf8(raw.closed().await).unwrap();
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{text:?}: {said}");
    }
    app.handshake(json!({})).await;
    app.stop().await;
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
    app.stop().await;
}

#[tokio::test]
async fn http_1_0_connection_closes_after_the_response() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    raw.send("GET /health HTTP/1.0\r\n\r\n").await;
    let answer = raw.answer().await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "OK"));
    raw.closed().await;
    app.stop().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    let (get, post) = (head("GET", "/version"), head("POST", "/key-handshake"));
    raw.send(&format!(
        "{get}X-Request-Id: 1\r\n\r\n\
         {post}X-Request-Id: 2\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}\
         {}X-Request-Id: 3\r\n\r\n",
        head("GET", "/nothing")
    ))
    .await;
    for (id, status) in [("1", 200), ("2", 200), ("3", 404)] {
        let answer = raw.answer().await.unwrap();
        assert_eq!((answer.header("x-request-id"), answer.status), (Some(id), status));
    }
    app.stop().await;
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
    app.stop().await;
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
    app.stop().await;
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
    app.stop().await;
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

#[tokio::test]
async fn concurrent_clients_get_distinct_streams() {
    let app = TestApp::start().await;
    let before = app.engine.open_streams();
    let calls = (0..200).map(|_| app.post("/key-handshake").json(&json!({})).send());
    let mut streams = std::collections::HashSet::new();
    for response in futures_util::future::join_all(calls).await {
        let body: serde_json::Value = response.unwrap().json().await.unwrap();
        assert!(streams.insert(body["stream_id"].as_str().unwrap().to_owned()));
    }
    eventually(|| (app.engine.open_streams() == before + 200).then_some(())).await;
    app.stop().await;
}
