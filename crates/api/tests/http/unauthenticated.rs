//! Clients without the token: they cannot lock out the app.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::app::{TOKEN, TestApp};
use crate::raw_client::Raw;
use crate::sockets::client::Client;

#[tokio::test]
async fn socket_limit_counts_only_authenticated_sockets() {
    let app = TestApp::with(|of| of.limits.max_websockets = 1).await;
    let mut first = Client::open_as_stranger(&app).await;
    first.done("auth", json!({ "token": TOKEN })).await;
    assert_eq!(Client::try_open(app.address, Some(&format!("Bearer {TOKEN}"))).await.err(), Some(503));
    let mut second = Client::open_as_stranger(&app).await;
    second.refused("auth", json!({ "token": TOKEN }), "overloaded").await;
    assert_eq!(second.end().await, 1013);
    first.done("ping", json!({})).await;
    drop(first);
}

#[tokio::test]
async fn silent_socket_is_evicted() {
    let hour = Duration::from_secs(3_600);
    let app = TestApp::with(|of| (of.serve.max_connections, of.limits.socket_auth_timeout) = (4, hour)).await;
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
        let mut raw = Raw::sending(&app, &format!("{line}\r\n{hosts}{token}\r\n")).await;
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
    let app = TestApp::with(|of| of.serve.max_connections = 2).await;
    for _ in 0..20 {
        let mut raw = Raw::sending(&app, "GET /health HTTP/1.1\r\nHost: test\r\n\r\n").await;
        assert_eq!(raw.answer().await.unwrap().status, 200);
        raw.0.shutdown().await.unwrap();
    }
    for (authenticated, open) in [("no", 0), ("yes", 1)] {
        app.metric(&format!("usher_http_connections{{authenticated=\"{authenticated}\"}} {open}\n")).await;
    }
    app.stop().await;
}
