//! A store that fails, stalls, or panics.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use usher_engine::ports::Store as _;

use crate::app::{REQUESTS, TestApp, eventually, within};
use crate::raw_client::{Raw, head};

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
    let response = app.get(UNKNOWN).header("accept", "text/event-stream").send().await.unwrap();
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
    let mut builder = TestApp::builder();
    builder.limits.request_timeout = Duration::from_millis(200);
    let app = builder.start().await;
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
    eventually(|| (app.engine.open_streams() == 2).then_some(())).await;
}

#[tokio::test]
async fn client_disconnect_does_not_interrupt_a_change() {
    let app = TestApp::start().await;
    let before = app.engine.open_streams();
    app.store.hold(REQUESTS);
    let asked = app.store.calls(REQUESTS);
    let mut raw = Raw::connect(&app).await;
    let head = head("POST", "/key-handshake");
    raw.send(&format!(
        "{head}Content-Type: application/json\r\nContent-Length: 23\r\n\r\n{{\"static_token\":\"gone\"}}"
    ))
    .await;
    app.store.called_more_than(REQUESTS, asked).await;
    drop(raw);
    // Time for the service to notice; were the change cut off, it would be now.
    tokio::time::sleep(Duration::from_millis(200)).await;
    app.store.work();
    let store = Arc::clone(&app.store);
    within(async {
        while store.open_operations(None, 100).await.unwrap().len() != before + 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    app.handshake(json!({ "static_token": "gone" })).await;
    assert_eq!(app.engine.open_streams(), before + 1, "it is that one");
    app.stop().await;
}

#[tokio::test]
async fn running_changes_are_limited_and_waiting_ones_can_be_cancelled() {
    let mut builder = TestApp::builder();
    builder.limits.max_changes = 1;
    builder.limits.request_timeout = Duration::from_millis(300);
    let app = builder.start().await;
    let before = app.engine.open_streams();
    app.store.hold(REQUESTS);
    let asked = app.store.calls(REQUESTS);
    let calls = (0..5).map(|_| app.post("/key-handshake").json(&json!({})).send());
    for response in futures_util::future::join_all(calls).await {
        assert_eq!(response.unwrap().status(), 503);
    }
    assert_eq!(app.store.calls(REQUESTS), asked + 1, "one ran, and four never began");
    app.store.work();
    eventually(|| (app.engine.open_streams() == before + 1).then_some(())).await;
    app.handshake(json!({})).await;
    assert_eq!(app.engine.open_streams(), before + 2);
    app.stop().await;
}

/// Whatever stands in the path or the query, an error is a problem document.
#[tokio::test]
async fn non_utf8_paths_and_queries_get_problem_documents() {
    let app = TestApp::start().await;
    let document = usher_api::openapi();
    let mut parameters = 0;
    for (path, item) in &document.paths.paths {
        let item = serde_json::to_value(item).unwrap();
        for (method, operation) in item.as_object().unwrap() {
            let named = |place: &str| -> Vec<String> {
                let all = operation["parameters"].as_array().into_iter().flatten();
                let all = all.filter(|parameter| parameter["in"] == place);
                all.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
            };
            let queries = named("query").into_iter().map(|name| (path.clone(), format!("?{name}=%ff")));
            let in_path = named("path").into_iter().flat_map(|name| {
                ["%ff", "%", "%00", "%2f", "%f0%28%8c%28"]
                    .map(|value| (path.replace(&format!("{{{name}}}"), value), String::new()))
            });
            for (path, query) in queries.chain(in_path) {
                parameters += 1;
                let target = format!("{}{query}", path.replace("{stream_id}", "subscriptions"));
                let mut raw = Raw::connect(&app).await;
                let line = head(&method.to_uppercase(), &target);
                raw.send(&format!("{line}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}")).await;
                let answer = raw.answer().await.unwrap();
                // A name that nobody has is an answer.
                if answer.status != 200 {
                    // Without an OpenID Connect provider there are no keys.
                    let expected: &[u16] = if path.starts_with("/oidc/keys/") { &[404, 503] } else { &[404, 422] };
                    assert!(expected.contains(&answer.status), "{method} {target}: {}", answer.status);
                    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{method} {target}");
                    let body: Value = serde_json::from_str(&answer.body).unwrap();
                    assert_eq!(body["status"], answer.status, "{method} {target}");
                }
            }
        }
    }
    assert!(parameters > 25, "{parameters}: did it look?");
}
