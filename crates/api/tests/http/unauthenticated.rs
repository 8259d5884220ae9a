//! Clients without the token: they cannot lock out the app.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::app::{TOKEN, TestApp, within};
use crate::raw_client::{Raw, head};
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
    app.stop().await;
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
    app.stop().await;
}

#[tokio::test]
async fn idle_connections_do_not_lock_out_the_app() {
    let mut builder = TestApp::builder();
    builder.serve.max_connections = 60;
    let app = builder.start().await;
    let mut own = Raw::connect(&app).await;
    own.send(&format!("{}\r\n", head("GET", "/version"))).await;
    assert_eq!(own.answer().await.unwrap().status, 200);

    let mut idle = Vec::new();
    for number in 0..300 {
        let mut raw = Raw::connect(&app).await;
        match number % 3 {
            // Slow heads, and bodies that never come.
            1 => raw.send("GET /version HTTP/1.1\r\nHost: te").await,
            2 => raw.send("GET /health HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n").await,
            _ => {}
        }
        idle.push(raw);
        if number % 10 == 0 {
            // By a connection that is there, and by a new one.
            own.send(&format!("{}\r\n", head("GET", "/version"))).await;
            assert_eq!(own.answer().await.unwrap().status, 200, "{number}");
            let mut new = Raw::connect(&app).await;
            new.send(&format!("{}\r\n", head("GET", "/version"))).await;
            assert_eq!(new.answer().await.unwrap().status, 200, "{number}");
        }
    }
    let text = app.get("/metrics").send().await.unwrap().text().await.unwrap();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}: {text}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(value("usher_http_connections{authenticated=\"no\"}") <= 30.0);
    assert!(value("usher_http_connections{authenticated=\"yes\"}") >= 1.0);
    // A third of them ended with its response, because its body was not read.
    assert!(value("usher_http_connections_evicted_total") >= 200.0 - 30.0);
    drop(idle);
    app.stop().await;
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
    app.stop().await;
}

#[tokio::test]
async fn wrong_tokens_are_delayed_and_the_right_one_is_not() {
    let app = TestApp::start().await;
    let mut guesses = tokio::task::JoinSet::new();
    for number in 0..200 {
        let request = app.http.get(app.url("/version")).bearer_auth(format!("guess-{number}"));
        guesses.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    let answered = within(async {
        let mut answered = 0;
        // Some are held back at last; then the app asks from the same address.
        while let Ok(Some(status)) = timeout(Duration::from_millis(20), guesses.join_next()).await {
            assert_eq!(status.unwrap(), 401);
            answered += 1;
        }
        answered
    })
    .await;
    assert_eq!(app.get("/version").send().await.unwrap().status(), 200);
    let rest = within(guesses.join_all()).await;
    assert_eq!(answered + rest.len(), 200);
    assert!(rest.iter().all(|status| *status == 401));
    app.stop().await;
}

#[tokio::test]
async fn host_header_rules_of_rfc_9112() {
    let app = TestApp::start().await;
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    for (line, hosts, status) in [
        ("GET /version HTTP/1.1", "", 400),
        ("GET /health HTTP/1.1", "", 400),
        ("GET /nothing HTTP/1.1", "", 400),
        ("GET /version HTTP/1.1", "Host: a\r\nHost: a\r\n", 400),
        ("GET /version HTTP/1.0", "Host: a\r\nHost: b\r\n", 400),
        ("GET /version HTTP/1.1", "Host: a/b\r\n", 400),
        ("GET /version HTTP/1.1", "Host:\r\n", 400),
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
    app.stop().await;
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
