//! Which requests need the token, and how it can be replaced.

use utoipa::openapi::{OpenApi, PathItem};

use crate::app::{TOKEN, TestApp, within};
use crate::raw_client::Raw;
use crate::sockets::client::Client;

/// Every operation of the document: method, a path that fits its pattern, whether it is public.
fn operations(document: &OpenApi) -> Vec<(&'static str, String, bool)> {
    let mut found = Vec::new();
    for (path, item) in &document.paths.paths {
        let path = path
            .replace("{stream_id}", "subscriptions")
            .replace("{main_key}", "x")
            .replace("{identifier}", "x")
            .replace("{subscription_id}", "x")
            .replace("{session_id}", "x")
            .replace("{channel_id}", "ab")
            .replace("{currency}", "x")
            .replace("{kid}", "x")
            .replace("{client_id}", "x")
            .replace("{key_id}", "x")
            .replace("{key}", "x")
            .replace("{id}", "subscriptions:0");
        assert!(!path.contains('{'), "tell this test how to fill in {path}");
        let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
        for (method, operation) in [
            ("GET", get),
            ("PUT", put),
            ("POST", post),
            ("DELETE", delete),
            ("OPTIONS", options),
            ("HEAD", head),
            ("PATCH", patch),
            ("TRACE", trace),
        ] {
            let Some(operation) = operation else { continue };
            let security = serde_json::to_value(operation.security.as_ref().expect("says who may call")).unwrap();
            found.push((method, path.clone(), security == serde_json::json!([{}])));
        }
    }
    assert!(found.len() >= 5, "{found:?}");
    found
}

#[tokio::test]
async fn every_route_except_public_ones_requires_the_token() {
    let app = TestApp::start().await;
    let public: Vec<_> = operations(&usher_api::openapi()).into_iter().filter(|(.., public)| *public).collect();
    let public: Vec<_> = public.iter().map(|(method, path, _)| (*method, path.as_str())).collect();
    assert_eq!(public, [("GET", "/health"), ("GET", "/.well-known/nostr.json")]);

    let unknown = [("GET", "/no-such-path"), ("DELETE", "/version"), ("GET", "/key-handshake"), ("GET", "/")];
    let unknown = unknown.map(|(method, path)| (method, path.to_owned(), false));
    for (method, path, public) in operations(&usher_api::openapi()).into_iter().chain(unknown) {
        let method: reqwest::Method = method.parse().unwrap();
        for token in [None, Some("wrong"), Some(""), Some(&TOKEN[1..]), Some("t0ken-of-the-tests2")] {
            // By way of a proxy: usher dev lets some be called from the machine itself without the token.
            let mut request = app.http.request(method.clone(), app.url(&path)).header("via", "1.1 proxy");
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let response = request.send().await.unwrap();
            if public {
                assert_eq!(response.status(), 200, "{method} {path}");
                continue;
            }
            assert_eq!(response.status(), 401, "{method} {path} {token:?}");
            let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
            let error = if token.is_some_and(|token| !token.is_empty()) { ", error=\"invalid_token\"" } else { "" };
            let is_page = path.starts_with("/docs") || path == "/openapi.json";
            assert!(is_page || challenge == format!("Bearer realm=\"usher\"{error}"), "{path} {token:?}: {challenge}");
            assert_eq!(response.headers()["content-type"], "application/problem+json");
            assert!(response.headers().contains_key("x-request-id"));
            let body: serde_json::Value = response.json().await.unwrap();
            assert_eq!(body["code"], "unauthorized");
        }
        let response = app.http.request(method.clone(), app.url(&path)).bearer_auth(TOKEN).send().await.unwrap();
        assert_ne!(response.status(), 401, "{method} {path}");
    }
}

#[tokio::test]
async fn no_body_is_awaited_without_the_token() {
    let app = TestApp::start().await;
    for headers in ["Content-Length: 200000\r\n", "Content-Length: 2\r\nExpect: 100-continue\r\n"] {
        let mut raw = Raw::connect(&app).await;
        // The body never comes.
        raw.send(&format!("POST /key-handshake HTTP/1.1\r\nHost: test\r\n{headers}\r\n")).await;
        let answer = raw.answer().await.unwrap();
        assert_eq!(answer.status, 401, "{headers}");
        if !headers.contains("Expect") {
            assert_eq!(answer.header("connection"), Some("close"));
            assert!(raw.closed().await.is_empty());
        }
    }

    let mut raw = Raw::connect(&app).await;
    let head = crate::raw_client::head("POST", "/key-handshake");
    raw.send(&format!("{head}Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"))
        .await;
    assert_eq!(raw.until("\r\n\r\n").await.unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
    raw.send("{}").await;
    assert_eq!(raw.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn tokens_can_be_replaced_at_run_time() {
    let app = TestApp::start().await;
    let status = async |token: &str| {
        let response = app.http.get(app.url("/version")).bearer_auth(token).send().await.unwrap();
        response.status().as_u16()
    };
    let (stream, _) = app.handshake(serde_json::json!({})).await;
    let mut events = app.sse(&format!("/events/{stream}")).send().await.unwrap();
    let (mut socket, mut switched) = (Client::open(&app).await, Client::open(&app).await);

    app.tokens.replace(&"new".into(), Some(&TOKEN.into()));
    assert_eq!((status(TOKEN).await, status("new").await), (200, 200));
    socket.done("ping", serde_json::json!({})).await;
    switched.done("auth", serde_json::json!({ "token": "new" })).await;

    app.tokens.replace(&"new".into(), None);
    assert_eq!((status(TOKEN).await, status("new").await), (401, 200));
    // What was opened with the old token ends.
    assert_eq!(socket.end().await, 4001);
    while within(events.chunk()).await.unwrap().is_some() {}
    switched.done("ping", serde_json::json!({})).await;
}
