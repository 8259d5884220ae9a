//! Deliveries to the webhook.

use std::sync::Arc;

use serde_json::{Value, json};
use usher_engine::UnixMillis;
use usher_engine::ports::{DeliveryAttempt, DeliveryStatus};
use usher_engine::testing::{FakeApp, Reply};

use crate::app::{TestApp, key, within};

async fn list(app: &TestApp, query: &str) -> Value {
    app.read(&format!("/webhooks/deliveries{query}")).await
}

/// Returns when so many deliveries are listed.
async fn until(app: &TestApp, query: &str, count: usize) -> Value {
    within(async {
        loop {
            let page = list(app, query).await;
            if page["deliveries"].as_array().unwrap().len() == count {
                return page;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    })
    .await
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
async fn no_deliveries_without_a_webhook() {
    let app = TestApp::start().await;
    let (_, token) = app.handshake(json!({})).await;
    app.scan(&token, key(9)).await;
    for query in ["", "?status=pending", "?status=delivered", "?status=failed&limit=1"] {
        assert_eq!(list(&app, query).await, json!({ "deliveries": [], "next": null }), "{query}");
    }
}

#[tokio::test]
async fn deliveries_are_listed_by_status() {
    let receiver = FakeApp::new(|_| Reply::Refuse);
    let mut builder = TestApp::builder();
    builder.webhook = Some(Arc::clone(&receiver) as _);
    let app = builder.start().await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    for user in 1..=2 {
        app.scan(&token, key(user)).await;
    }
    let waiting = until(&app, "?status=pending", 2).await;
    let first = within(async {
        loop {
            let first = list(&app, "?status=pending").await["deliveries"][0].clone();
            if first["attempts"] != 0 {
                return first;
            }
        }
    })
    .await;
    assert_eq!(first["id"], format!("{stream}:0"));
    assert_eq!(
        (&first["stream_id"], &first["index"], &first["type"]),
        (&json!(stream), &json!(0), &json!("KeyHandshake"))
    );
    assert_eq!((&first["status"], &first["last_status"]), (&json!("pending"), &json!(500)));
    assert_eq!(first["last_error"], "the receiver answered 500");
    assert!(first["next_attempt_at"].as_u64() > first["last_attempt_at"].as_u64());
    assert!(first["timestamp"].is_u64() && first["since"].is_u64());
    assert!(first.get("data").is_none() && !first.to_string().contains(&key(1).to_hex()), "nothing of what it says");
    let second = &waiting["deliveries"][1];
    assert_eq!(
        (&second["attempts"], &second["last_attempt_at"], &second["last_error"]),
        (&json!(0), &json!(null), &json!(null))
    );

    give_up(&app, &stream, 0).await;
    let failed = until(&app, "", 1).await;
    assert_eq!(failed["deliveries"][0]["next_attempt_at"], json!(null));
    assert_eq!(failed["deliveries"][0]["last_attempt_at"], 1_732_396_800);

    receiver.set(|_| Reply::Accept);
    let retry = app.post(&format!("/webhooks/deliveries/{stream}:0/retry")).send().await.unwrap();
    assert_eq!(retry.status(), 200);
    let retried: Value = retry.json().await.unwrap();
    assert_eq!(retried["id"], format!("{stream}:0"));
    let delivered = until(&app, "?status=delivered", 2).await;
    assert_eq!(delivered["deliveries"][0]["last_status"], 204);
    assert_eq!(delivered["deliveries"][0]["last_error"], json!(null));
    assert_eq!(list(&app, "").await["deliveries"], json!([]));

    // A delivered event can be delivered again; the id may be percent-encoded.
    let retry = app.post(&format!("/webhooks/deliveries/{stream}%3A1/retry")).send().await.unwrap();
    assert_eq!(retry.status(), 200);
    until(&app, "?status=delivered", 2).await;
}

#[tokio::test]
async fn repeated_retry_with_one_key_posts_once() {
    let receiver = Arc::new(FakeApp::default());
    let mut builder = TestApp::builder();
    builder.webhook = Some(Arc::clone(&receiver) as _);
    let app = builder.start().await;
    let (stream, token) = app.handshake(json!({})).await;
    app.scan(&token, key(9)).await;
    let delivered = until(&app, "?status=delivered", 1).await["deliveries"][0].clone();
    let retry = async || {
        let call = app.post(&format!("/webhooks/deliveries/{stream}:0/retry")).header("idempotency-key", "again");
        let response = call.send().await.unwrap();
        assert_eq!(response.status(), 200);
        let replayed = response.headers().contains_key("idempotency-replayed");
        (response.json::<Value>().await.unwrap(), replayed)
    };
    let (first, replayed) = retry().await;
    assert!(!replayed);
    assert_eq!((&first["id"], &first["status"], &first["attempts"]), (&delivered["id"], &json!("pending"), &json!(0)));
    let again = until(&app, "?status=delivered", 1).await["deliveries"][0].clone();
    assert_eq!(again["attempts"], 1);
    assert_eq!(retry().await, (first, true));
    assert_eq!(list(&app, "?status=delivered").await["deliveries"], json!([again]), "nothing was done");
}

#[tokio::test]
async fn unknown_deliveries_are_404() {
    let app = TestApp::start().await;
    for id in ["subscriptions:0", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11:0", "nonsense", "%FF", "a%2Fb:1"] {
        let (status, body) = app.call("POST", &format!("/webhooks/deliveries/{id}/retry"), Value::Null).await;
        assert_eq!((status, &body["code"]), (404, &json!("delivery_not_found")), "{id}");
    }
}
