//! Responses that are made before the request's body is read: the connection stays usable, or the response says that it
//! is closed.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;

use crate::app::TestApp;
use crate::raw_client::{Answer, Raw, head};

const JSON: &str = "Content-Type: application/json\r\n";
const NOBODY: &str = "/key-handshake/00000000-0000-7000-8000-000000000000";

/// Sends a request whose body comes in a second segment, and returns its response.
async fn send_in_two(raw: &mut Raw, head: &str, body: &str) -> Answer {
    raw.send(head).await;
    // Long enough for a response that does not wait for the body.
    tokio::time::sleep(Duration::from_millis(50)).await;
    raw.send(body).await;
    raw.answer().await.unwrap_or_else(|| panic!("no response: {head}"))
}

/// The connection answers one more request, to the request that was sent and not to the body before it.
async fn is_usable(raw: &mut Raw, context: &str) {
    raw.send(&format!("{}X-Request-Id: next\r\n\r\n", head("GET", "/version"))).await;
    let next = raw.answer().await.unwrap_or_else(|| panic!("closed after {context}"));
    assert_eq!(next.header("x-request-id"), Some("next"), "{context}");
}

#[tokio::test]
async fn unread_body_leaves_the_connection_usable() {
    let app = TestApp::start().await;
    let (stream, _) = app.handshake(json!({})).await;
    let poll = format!("/events/{stream}?from=1&wait=1");
    for (method, target, headers, status) in [
        ("POST", "/nothing", JSON, 404),
        ("POST", "/version", JSON, 405),
        ("POST", "/key-handshake", "Content-Type: text/plain\r\n", 415),
        ("POST", "/key-handshake", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", 415),
        ("POST", "/key-handshake", "Content-Type: application/json\r\nIdempotency-Key: a b\r\n", 422),
        ("POST", "/webhooks/deliveries/x/retry", JSON, 404),
        ("GET", "/version", JSON, 200),
        ("GET", "/health", "", 200),
        ("GET", &poll, "", 200),
        ("DELETE", NOBODY, JSON, 404),
    ] {
        let mut raw = Raw::connect(&app).await;
        // Looks like a request itself, and is larger than what arrives with the head.
        let text = format!("{}\r\n", head("POST", "/key-handshake")).repeat(500);
        let context = format!("{method} {target} {headers:?}");
        let counted = format!("{}{headers}Content-Length: {}\r\n\r\n", head(method, target), text.len());
        let chunked = format!("{}{headers}Transfer-Encoding: chunked\r\n\r\n", head(method, target));
        let chunks = format!("{:x}\r\n{text}\r\n0\r\nA: b\r\n\r\n", text.len());
        for (head, body) in [(&counted, &text), (&chunked, &chunks)] {
            let answer = send_in_two(&mut raw, head, body).await;
            assert_eq!(answer.status, status, "{context}: {}", answer.body);
            assert_eq!(answer.header("connection"), None, "{context}");
            is_usable(&mut raw, &context).await;
        }
    }
    assert_eq!(app.engine.open_streams(), 2, "the reserved stream and the polled one");
    app.stop().await;
}

#[tokio::test]
async fn rate_limited_request_leaves_the_connection_usable() {
    let mut builder = TestApp::builder();
    builder.limits.requests_per_second = NonZeroU32::new(1);
    let app = builder.start().await;
    let mut raw = Raw::connect(&app).await;
    let head = format!("{}{JSON}Content-Length: 2\r\n\r\n", head("POST", "/key-handshake"));
    for expected in [200, 429, 429] {
        let answer = send_in_two(&mut raw, &head, "{}").await;
        assert_eq!((answer.status, answer.header("connection")), (expected, None));
    }
    app.stop().await;
}

#[tokio::test]
async fn oversized_or_missing_body_closes_the_connection() {
    let app = TestApp::start().await;
    for (target, framing, status) in [
        ("/nothing", "Content-Length: 9\r\n\r\n{}", 404),
        ("/nothing", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", 404),
        ("/nothing", "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 404),
        ("/nothing", "Content-Length: 262145\r\n\r\n", 404),
        ("/key-handshake", "Content-Length: 262145\r\n\r\n", 413),
    ] {
        let mut raw = Raw::connect(&app).await;
        raw.send(&format!("{}{JSON}{framing}", head("POST", target))).await;
        let answer = raw.answer().await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{target} {framing:?}");
        assert!(raw.closed().await.is_empty());
    }
    let mut raw = Raw::connect(&app).await;
    let text = "x".repeat(262_145);
    let head = format!("{}Transfer-Encoding: chunked\r\n\r\n", head("POST", "/nothing"));
    let answer = send_in_two(&mut raw, &head, &format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len())).await;
    assert_eq!((answer.status, answer.header("connection")), (404, Some("close")));
    app.stop().await;
}

#[tokio::test]
async fn unauthenticated_response_does_not_wait_for_the_body() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    raw.send("POST /key-handshake HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\n").await;
    let answer = raw.answer().await.unwrap();
    assert_eq!((answer.status, answer.header("connection")), (401, Some("close")));
    assert!(raw.closed().await.is_empty());
    app.stop().await;
}

#[tokio::test]
async fn no_100_continue_for_an_unneeded_body() {
    const EXPECT: &str = "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let app = TestApp::start().await;
    for (method, target, headers, status) in [
        ("POST", "/nothing", JSON, 404),
        ("POST", "/key-handshake", "Content-Type: text/plain\r\n", 415),
        ("GET", "/version", JSON, 200),
        ("DELETE", NOBODY, JSON, 404),
    ] {
        let mut raw = Raw::connect(&app).await;
        raw.send(&format!("{}{headers}{EXPECT}", head(method, target))).await;
        let answer = raw.answer().await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{method} {target}");
        assert!(raw.closed().await.is_empty());
    }

    let mut raw = Raw::connect(&app).await;
    raw.send(&format!("{}{JSON}{EXPECT}", head("POST", "/key-handshake"))).await;
    assert_eq!(raw.answer().await.unwrap().status, 100);
    raw.send("{}").await;
    let answer = raw.answer().await.unwrap();
    assert_eq!((answer.status, answer.header("connection")), (200, None));
    is_usable(&mut raw, "100 Continue").await;
    app.stop().await;
}
