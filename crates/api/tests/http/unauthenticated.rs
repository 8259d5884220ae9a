//! Clients without the token: they cannot lock out the app.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::app::{TOKEN, TestApp, within};
use crate::raw_client::Raw;
use crate::sockets::client::Client;

#[tokio::test]
async fn unauthenticated_sockets_do_not_lock_out_the_app() {
    let mut builder = TestApp::builder();
    builder.limits.max_websockets = 50;
    let app = builder.start().await;
    let mut strangers = Vec::new();
    for _ in 0..60 {
        strangers.push(Client::open_as_stranger(&app).await);
    }
    let mut sockets = Vec::new();
    for _ in 0..40 {
        let mut socket = Client::open(&app).await;
        socket.done("ping", json!({})).await;
        sockets.push(socket);
    }
    // Clients that send the token in the first message are not locked out either.
    let mut late = Client::open_as_stranger(&app).await;
    late.done("auth", json!({ "token": TOKEN })).await;
    drop((strangers, sockets, late));
}

#[tokio::test]
async fn socket_limit_counts_only_authenticated_sockets() {
    let mut builder = TestApp::builder();
    builder.limits.max_websockets = 1;
    let app = builder.start().await;
    let mut first = Client::open_as_stranger(&app).await;
    first.done("auth", json!({ "token": TOKEN })).await;
    assert_eq!(Client::try_open(app.address, Some(&format!("Bearer {TOKEN}"))).await.err(), Some(503));
    let mut second = Client::open_as_stranger(&app).await;
    let refused = second.ask("auth", json!({ "token": TOKEN })).await;
    assert_eq!(refused["error"]["code"], "overloaded");
    assert_eq!(second.end().await, 1013);
    first.done("ping", json!({})).await;
    drop(first);
}

#[tokio::test]
async fn silent_socket_is_evicted() {
    let mut builder = TestApp::builder();
    builder.serve.max_connections = 4;
    builder.limits.socket_auth_timeout = Duration::from_secs(3_600);
    let app = builder.start().await;
    let mut silent = Client::open_as_stranger(&app).await;
    let mut own = Client::open(&app).await;
    let mut others = Vec::new();
    for _ in 0..4 {
        others.push(Raw::connect(&app).await);
    }
    assert!(silent.hear_or_end().await.is_err(), "closed for a newer one");
    own.done("ping", json!({})).await;
    drop(own);
}

#[tokio::test]
async fn host_header_rules_of_rfc_9112() {
    let app = TestApp::start().await;
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    for (line, hosts, status) in [
        ("GET /health HTTP/1.1", "", 400),
        ("GET /nothing HTTP/1.1", "", 400),
        ("GET /version HTTP/1.0", "Host: a\r\nHost: b\r\n", 400),
        ("GET http://a/version HTTP/1.1", "", 400),
        ("GET /version HTTP/1.1", "Host: [::1]:80\r\n", 200),
        ("GET /version HTTP/1.0", "", 200),
    ] {
        let mut raw = Raw::connect(&app).await;
        raw.send(&format!("{line}\r\n{hosts}{token}\r\n")).await;
        let answer = raw.answer().await.unwrap();
        assert_eq!(answer.status, status, "{line} {hosts:?}");
        if status == 400 {
            assert!(answer.body.contains("\"code\":\"malformed_request\""), "{}", answer.body);
            assert!(raw.closed().await.is_empty());
        }
    }
}

#[tokio::test]
async fn evicted_connection_is_no_longer_counted() {
    let mut builder = TestApp::builder();
    builder.serve.max_connections = 2;
    let app = builder.start().await;
    for _ in 0..20 {
        let mut raw = Raw::connect(&app).await;
        raw.send("GET /health HTTP/1.1\r\nHost: test\r\n\r\n").await;
        assert_eq!(raw.answer().await.unwrap().status, 200);
        raw.0.shutdown().await.unwrap();
    }
    let open = async || {
        let text = app.get("/metrics").send().await.unwrap().text().await.unwrap();
        let mut lines: Vec<_> =
            text.lines().filter(|line| line.starts_with("usher_http_connections{")).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let expected =
        ["usher_http_connections{authenticated=\"no\"} 0", "usher_http_connections{authenticated=\"yes\"} 1"];
    within(async {
        while open().await != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    app.stop().await;
}
