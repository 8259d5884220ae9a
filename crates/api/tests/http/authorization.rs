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
            .replace("{key_id}", "x")
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

    for (method, path, public) in operations(&usher_api::openapi()) {
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
            assert!(response.headers()["www-authenticate"].to_str().unwrap().contains("Bearer realm="));
            assert_eq!(response.headers()["content-type"], "application/problem+json");
            assert!(response.headers().contains_key("x-request-id"));
            let body: serde_json::Value = response.json().await.unwrap();
            assert_eq!(body["code"], "unauthorized");
        }
        let response = app.http.request(method.clone(), app.url(&path)).bearer_auth(TOKEN).send().await.unwrap();
        assert_ne!(response.status(), 401, "{method} {path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn unauthorized_response_body_and_header() {
    let app = TestApp::start().await;
    let response = app.http.get(app.url("/version")).header("x-request-id", "r1").send().await.unwrap();
    assert_eq!(response.headers()["www-authenticate"], "Bearer realm=\"usher\"");
    insta::assert_snapshot!(response.text().await.unwrap(), @r#"{"type":"urn:usher:error:unauthorized","title":"The bearer token is missing or wrong","status":401,"detail":"send the header `Authorization: Bearer <token>` with the service's auth.auth_token or an API key","code":"unauthorized","request_id":"r1"}"#);
    let response = app.http.get(app.url("/version")).bearer_auth("wrong").send().await.unwrap();
    assert_eq!(response.headers()["www-authenticate"], "Bearer realm=\"usher\", error=\"invalid_token\"");
    app.stop().await;
}

#[tokio::test]
async fn unknown_paths_return_401_without_a_token() {
    let app = TestApp::start().await;
    for (method, path) in [("GET", "/no-such-path"), ("DELETE", "/version"), ("GET", "/key-handshake"), ("GET", "/")] {
        let request = app.http.request(method.parse().unwrap(), app.url(path));
        assert_eq!(request.send().await.unwrap().status(), 401, "{method} {path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn unauthenticated_request_is_refused_before_its_body_arrives() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    // The body never comes.
    raw.send("POST /key-handshake HTTP/1.1\r\nHost: test\r\nContent-Length: 200000\r\n\r\n").await;
    let answer = raw.answer().await.unwrap();
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(raw.closed().await.is_empty());
    app.stop().await;
}

#[tokio::test]
async fn expect_continue_is_refused_without_the_token() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    raw.send("POST /key-handshake HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n").await;
    assert_eq!(raw.answer().await.unwrap().status, 401);

    let mut raw = Raw::connect(&app).await;
    let head = crate::raw_client::head("POST", "/key-handshake");
    raw.send(&format!("{head}Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"))
        .await;
    assert_eq!(raw.until("\r\n\r\n").await.unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
    raw.send("{}").await;
    assert_eq!(raw.answer().await.unwrap().status, 200);
    app.stop().await;
}

#[tokio::test]
async fn tokens_can_be_replaced_at_run_time() {
    let app = TestApp::start().await;
    let status = async |token: &str| {
        let response = app.http.get(app.url("/version")).bearer_auth(token).send().await.unwrap();
        response.status().as_u16()
    };
    let (stream, _) = app.handshake(serde_json::json!({})).await;
    let mut events = app.get(&format!("/events/{stream}")).header("accept", "text/event-stream").send().await.unwrap();
    let mut socket = Client::open(&app).await;

    app.tokens.replace(&"new".into(), Some(&TOKEN.into()));
    assert_eq!((status(TOKEN).await, status("new").await), (200, 200));
    socket.done("ping", serde_json::json!({})).await;

    app.tokens.replace(&"new".into(), None);
    assert_eq!((status(TOKEN).await, status("new").await), (401, 200));
    // What was opened with the old token ends.
    assert_eq!(socket.end().await, 4001);
    while within(events.chunk()).await.unwrap().is_some() {}
    app.stop().await;
}

#[tokio::test]
async fn websocket_can_switch_to_the_new_token() {
    let app = TestApp::start().await;
    let mut socket = Client::open(&app).await;
    app.tokens.replace(&"new".into(), Some(&TOKEN.into()));
    socket.done("auth", serde_json::json!({ "token": "new" })).await;
    app.tokens.replace(&"new".into(), None);
    socket.done("ping", serde_json::json!({})).await;
    drop(socket);
    app.stop().await;
}
