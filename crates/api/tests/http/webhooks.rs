//! Deliveries to the webhook.

use std::sync::Arc;

use serde_json::{Value, json};
use usher_engine::UnixMillis;
use usher_engine::ports::{DeliveryAttempt, DeliveryStatus};
use usher_testing::ports::{FakeApp, Reply};

use crate::app::{TestApp, key, until};

async fn list(app: &TestApp, query: &str) -> Value {
    app.read(&format!("/webhooks/deliveries{query}")).await
}

/// Returns when so many deliveries are listed.
async fn listed(app: &TestApp, query: &str, count: usize) -> Value {
    let mut page = Value::Null;
    until(async || {
        page = list(app, query).await;
        page["deliveries"].as_array().unwrap().len() == count
    })
    .await;
    page
}

/// The app gives up on a delivery; the engine would after three days.
async fn give_up(app: &TestApp, stream: &str, index: u64) {
    let at = UnixMillis::from_secs(1_732_396_800);
    let attempt = DeliveryAttempt {
        stream: stream.parse().unwrap(),
        index,
        at,
        status: DeliveryStatus::Failed,
        due_at: at,
        http_status: Some(500),
        error: Some("the receiver answered 500".to_owned()),
    };
    assert!(app.deliveries.record_attempt(attempt).await.unwrap());
}

#[tokio::test]
async fn deliveries_are_listed_by_status() {
    let receiver = FakeApp::new(|_| Reply::Refuse);
    let app = TestApp::with(|of| of.webhook = Some(Arc::clone(&receiver) as _)).await;
    let (stream, _) = app.poster("poster", 2).await;
    let waiting = listed(&app, "?status=pending", 2).await;
    let mut first = Value::Null;
    until(async || {
        first = list(&app, "?status=pending").await["deliveries"][0].clone();
        first["attempts"] != 0
    })
    .await;
    let expected =
        json!([format!("{stream}:0"), stream, 0, "KeyHandshake", "pending", 500, "the receiver answered 500"]);
    let names = ["id", "stream_id", "index", "type", "status", "last_status", "last_error"];
    assert_eq!(json!(names.map(|name| &first[name])), expected);
    assert!(first["next_attempt_at"].as_u64() > first["last_attempt_at"].as_u64());
    assert!(first["timestamp"].is_u64() && first["since"].is_u64());
    assert!(first.get("data").is_none() && !first.to_string().contains(&key(1).to_hex()), "nothing of what it says");
    let second = &waiting["deliveries"][1];
    let of_attempts = ["attempts", "last_attempt_at", "last_error"].map(|name| &second[name]);
    assert_eq!(json!(of_attempts), json!([0, null, null]));

    give_up(&app, &stream, 0).await;
    let failed = listed(&app, "", 1).await;
    assert_eq!(failed["deliveries"][0]["next_attempt_at"], json!(null));
    assert_eq!(failed["deliveries"][0]["last_attempt_at"], 1_732_396_800);

    receiver.set(|_| Reply::Accept);
    let retry = format!("/webhooks/deliveries/{stream}:0/retry");
    assert_eq!(app.done("POST", &retry, Value::Null).await["id"], format!("{stream}:0"));
    let delivered = listed(&app, "?status=delivered", 2).await;
    assert_eq!(delivered["deliveries"][0]["last_status"], 204);
    assert_eq!(delivered["deliveries"][0]["last_error"], json!(null));
    assert_eq!(list(&app, "").await["deliveries"], json!([]));

    // A delivered event can be delivered again; the id may be percent-encoded.
    app.done("POST", &format!("/webhooks/deliveries/{stream}%3A1/retry"), Value::Null).await;
    listed(&app, "?status=delivered", 2).await;
}

#[tokio::test]
async fn test_event_is_delivered_like_any_other() {
    let receiver = FakeApp::new(|_| Reply::Accept);
    let app = TestApp::with(|of| of.webhook = Some(Arc::clone(&receiver) as _)).await;
    let event_id = app.done("POST", "/webhooks/test", Value::Null).await["event_id"].clone();
    let delivery = listed(&app, "?status=delivered", 1).await["deliveries"][0].clone();
    assert_eq!(json!([delivery["id"], delivery["type"], delivery["last_status"]]), json!([event_id, "Test", 204]));
    let event = app.read(&format!("/events/{}", delivery["stream_id"].as_str().unwrap())).await;
    assert_eq!(event["events"][0]["data"], json!({}));
}

#[tokio::test]
async fn without_a_webhook_there_are_no_deliveries() {
    let app = TestApp::start().await;
    let (_, token) = app.handshake(json!({})).await;
    app.scan(&token, key(9)).await;
    app.refused("POST", "/webhooks/test", Value::Null, (503, "webhook_not_configured")).await;
    for query in ["", "?status=pending", "?status=delivered", "?status=failed&limit=1"] {
        assert_eq!(list(&app, query).await, json!({ "deliveries": [], "next": null }), "{query}");
    }
    for id in ["subscriptions:0", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11:0", "nonsense", "%FF", "a%2Fb:1"] {
        app.refused("POST", &format!("/webhooks/deliveries/{id}/retry"), Value::Null, (404, "delivery_not_found"))
            .await;
    }
}
