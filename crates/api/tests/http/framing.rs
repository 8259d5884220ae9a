//! Requests whose head or length two parsers could read differently: refused, and the connection closed.

use crate::app::{TOKEN, TestApp};
use crate::raw_client::{Raw, head};

const JSON: &str = "Content-Type: application/json\r\n";

/// A connection over which `requests` requests have been answered.
async fn used(app: &TestApp, requests: usize) -> Raw {
    let mut raw = Raw::connect(app).await;
    for number in 0..requests {
        // With bodies of both kinds, and line feeds in them.
        let body = match number % 3 {
            0 => format!("{JSON}Content-Length: 5\r\n\r\n{{\n\n}}\n"),
            1 => format!(
                "{JSON}Transfer-Encoding: chunked\r\n\r\n2;a=\"b\"\r\n{{\n\r\n3 \r\n\n}}\n\r\n0\r\nA: b\r\n\r\n"
            ),
            _ => format!("{JSON}Transfer-Encoding: Chunked\r\n\r\n00005\r\n{{\n\n}}\n\r\n0\r\n\r\n"),
        };
        raw.send(&format!("{}{body}", head("POST", "/key-handshake"))).await;
        assert_eq!(raw.answer().await.unwrap().status, 200, "{number}");
    }
    raw
}

async fn is_refused(mut raw: Raw, text: &str) {
    raw.send(text).await;
    let answer = raw.answer().await.unwrap_or_else(|| panic!("closed without a response: {text:?}"));
    assert_eq!(answer.status, 400, "{text:?}");
    assert!(answer.body.contains("\"code\":\"malformed_request\""), "{text:?}: {}", answer.body);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(raw.closed().await.is_empty(), "{text:?}");
}

#[tokio::test]
async fn bare_line_feed_is_refused_in_every_request_head() {
    let app = TestApp::start().await;
    for text in [
        format!("GET /version HTTP/1.1\nHost: x\nAuthorization: Bearer {TOKEN}\n\n"),
        format!("GET /version HTTP/1.1\r\nHost: x\nX: y\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"),
        format!("GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\n"),
        format!("\nGET /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"),
    ] {
        for requests in 0..4 {
            is_refused(used(&app, requests).await, &text).await;
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn pipelined_requests_before_a_malformed_one_are_answered() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    let (good, post) = (format!("{}\r\n", head("GET", "/version")), head("POST", "/key-handshake"));
    let bad = format!("GET /version HTTP/1.1\r\nHost: x\nAuthorization: Bearer {TOKEN}\r\n\r\n");
    raw.send(&format!("{good}{post}{JSON}Content-Length: 4\r\n\r\n{{\n}}\n{bad}{good}")).await;
    for status in [200, 200, 400] {
        assert_eq!(raw.answer().await.unwrap().status, status);
    }
    assert!(raw.closed().await.is_empty(), "what follows a malformed request is not read");
    app.stop().await;
}

#[tokio::test]
async fn bare_line_feed_in_trailers_closes_the_connection() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    let body = format!("{JSON}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\nA: b\nC: d\r\n\r\n");
    raw.send(&format!("{}{body}{}\r\n", head("POST", "/key-handshake"), head("GET", "/version"))).await;
    let statuses = [raw.answer().await.unwrap().status, raw.answer().await.map_or(400, |answer| answer.status)];
    assert!(matches!(statuses, [200 | 400, 400]), "{statuses:?}");
    assert!(raw.closed().await.is_empty());
    app.stop().await;
}

#[tokio::test]
async fn ambiguous_lengths_and_unknown_transfer_codings_are_refused() {
    let app = TestApp::start().await;
    let open = app.engine.open_streams();
    for lines in [
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: identity, chunked",
        "Transfer-Encoding: , chunked",
        "Transfer-Encoding:\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 2",
        "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "content-length: 7\r\nTRANSFER-ENCODING:chunked",
        "Content-Length: 12\r\nContent-Length: 12",
    ] {
        for requests in [0, 2] {
            let text = format!("{}{JSON}{lines}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n", head("POST", "/key-handshake"));
            is_refused(used(&app, requests).await, &text).await;
        }
    }
    // What the HTTP library refuses by itself, without a body.
    for lines in [
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding:\r\n chunked",
        "Content-Length: 12\r\nContent-Length: 13",
        "Content-Length: +12",
        "Content-Length: 12, 12",
        "Content-Length: 99999999999999999999999",
    ] {
        let mut raw = Raw::connect(&app).await;
        raw.send(&format!("{}{JSON}{lines}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n", head("POST", "/key-handshake"))).await;
        let said = String::from_utf8(raw.closed().await).unwrap();
        assert!(said.starts_with("HTTP/1.1 4") && said.matches("HTTP/1.1").count() == 1, "{lines}: {said}");
    }
    let handshakes = 11 * 2;
    assert_eq!(app.engine.open_streams(), open + handshakes, "none of the refused requests started anything");
    app.stop().await;
}
