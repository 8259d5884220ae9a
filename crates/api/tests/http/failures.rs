//! A store that fails, stalls, or panics.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::{REQUESTS, TestApp, until};

const UNKNOWN: &str = "/events/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11";

#[tokio::test]
async fn store_failure_is_503_without_internal_details() {
    let app = TestApp::start().await;
    app.store.fail(REQUESTS, usize::MAX);
    let response = app.post("/key-handshake").json(&json!({})).send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "5");
    let body = response.text().await.unwrap();
    assert!(body.contains("\"code\":\"storage_unavailable\"") && !body.contains("s3cret"), "{body}");
    let (status, body) = app.call("GET", UNKNOWN, Value::Null).await;
    assert!(status == 503 && !body.to_string().contains("s3cret"), "{body}");
    let response = app.sse(UNKNOWN).send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(app.http.get(app.url("/health")).send().await.unwrap().status(), 200, "alive all the same");
    app.store.work();
    app.handshake(json!({})).await;
}

#[tokio::test]
async fn panic_is_500_and_other_requests_continue() {
    let app = TestApp::start().await;
    app.store.panic(REQUESTS);
    for request in [app.get(UNKNOWN), app.post("/key-handshake").json(&json!({}))] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 500);
        assert_eq!(response.headers()["x-request-id"], "test");
        let body = response.text().await.unwrap();
        assert!(body.contains("\"code\":\"internal_error\"") && !body.contains("panic"), "{body}");
    }
    app.store.work();
    app.handshake(json!({})).await;
}

#[tokio::test]
async fn request_over_the_deadline_is_503() {
    let app = TestApp::with(|of| of.limits.request_timeout = Duration::from_millis(200)).await;
    app.store.hold(REQUESTS);
    for request in [app.get(UNKNOWN), app.post("/key-handshake").json(&json!({ "static_token": "late" }))] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "1");
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["code"], "deadline_exceeded");
    }
    // The operation may still happen.
    app.store.work();
    until(async || app.engine.open_streams() == 2).await;
}

#[tokio::test]
async fn running_changes_are_limited_and_waiting_ones_can_be_cancelled() {
    let app =
        TestApp::with(|of| (of.limits.max_changes, of.limits.request_timeout) = (1, Duration::from_secs(3))).await;
    let before = app.engine.open_streams();
    app.store.hold(REQUESTS);
    let asked = app.store.calls(REQUESTS);
    let calls = (0..5).map(|_| app.post("/key-handshake").json(&json!({})).send());
    for response in futures_util::future::join_all(calls).await {
        assert_eq!(response.unwrap().status(), 503);
    }
    assert_eq!(app.store.calls(REQUESTS), asked + 1, "one ran, and four never began");
    app.store.work();
    until(async || app.engine.open_streams() == before + 1).await;
    app.handshake(json!({})).await;
    assert_eq!(app.engine.open_streams(), before + 2);
    app.stop().await;
}
