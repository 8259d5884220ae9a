//! Age verification sessions, decided by staff.

use serde_json::{Value, json};

use usher_engine::ports::MintAuthToken;
use usher_engine::testing::MINT;

use crate::app::{TestApp, key};

async fn open(app: &TestApp) -> Value {
    app.call("POST", "/verification/sessions", json!({})).await.1
}

async fn decide(app: &TestApp, session: &str, body: &Value) -> (u16, Value) {
    app.call("POST", &format!("/verification/sessions/{session}/decision"), body.clone()).await
}

async fn result(app: &TestApp, session: &Value) -> Value {
    let page = app.read(&format!("/events/{}?wait=60", session["stream_id"].as_str().unwrap())).await;
    assert_eq!((&page["done"], page["events"].as_array().unwrap().len()), (&json!(true), 1), "{page}");
    page["events"][0].clone()
}

#[tokio::test]
async fn session_has_the_specified_fields() {
    let app = TestApp::start().await;
    for body in ["", "{}", r#"{"unknown": 1}"#] {
        let response = app.post("/verification/sessions").header("content-type", "application/json").body(body);
        let session: Value = response.send().await.unwrap().json().await.unwrap();
        let text = |name: &str| session[name].as_str().unwrap_or_else(|| panic!("{name}: {session}")).to_owned();
        let url = text("session_url");
        let secret = url.strip_prefix(&format!("http://127.0.0.1:3000/verify/{}/", text("session_id"))).unwrap();
        assert!(secret.len() == 32 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{url}");
        assert!(text("ephemeral_npub").starts_with("npub1"));
        assert!(!text("stream_id").is_empty());
        assert!(session["expires_at"].as_u64().unwrap() > 1_732_137_600);
        assert_eq!(session.as_object().unwrap().len(), 5);
    }
    let (one, other) = (open(&app).await, open(&app).await);
    for name in ["session_id", "session_url", "ephemeral_npub", "stream_id"] {
        assert_ne!(one[name], other[name], "{name}");
    }
}

#[tokio::test]
async fn staff_can_decide_only_once() {
    let app = TestApp::start().await;
    for (decision, status, event) in [
        (
            json!({"decision": "reject", "reason": "too young"}),
            "rejected",
            json!({"status": "rejected", "passed": false, "reason": "too young"}),
        ),
        (json!({"decision": "reject"}), "rejected", json!({"status": "rejected", "passed": false})),
        (
            json!({"decision": "approve"}),
            "approved",
            json!({"status": "insufficient_funds", "passed": true, "reason": "no mint is configured (verification.mint_url)"}),
        ),
    ] {
        let session = open(&app).await;
        let id = session["session_id"].as_str().unwrap();
        assert_eq!(decide(&app, id, &decision).await, (200, json!({"session_id": id, "status": status})));
        let (code, problem) = decide(&app, id, &decision).await;
        assert_eq!((code, &problem["code"]), (409, &json!("session_decided")));
        let told = result(&app, &session).await;
        assert_eq!((&told["type"], &told["data"]), (&json!("CashuResponse"), &event));
        let (code, problem) = decide(&app, id, &decision).await;
        assert_eq!((code, &problem["code"]), (409, &json!("session_decided")), "also when it is over");
    }
}

#[tokio::test]
async fn unknown_sessions_are_404() {
    let app = TestApp::start().await;
    let stream = app.handshake(json!({})).await.0;
    for unknown in ["nothing", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11", "subscriptions", &stream] {
        let (code, problem) = decide(&app, unknown, &json!({"decision": "approve"})).await;
        assert_eq!((code, &problem["code"]), (404, &json!("session_not_found")), "{unknown}");
    }
}

/// A service whose proofs are minted there.
async fn with_mint(mint_url: &str) -> TestApp {
    let mut builder = TestApp::builder();
    builder.options.verification.mint_url = Some(mint_url.to_owned());
    builder.options.verification.mint_auth = Some(MintAuthToken("static".to_owned()));
    builder.start().await
}

#[tokio::test]
async fn user_with_a_proof_is_asked_for_it() {
    let body = json!({ "recipient_key": key(7).to_hex(), "subkeys": [] });
    let app = TestApp::start().await;
    let ask = async |app: &TestApp, body: &Value| app.call("POST", "/verification/token", body.clone()).await;
    let (status, problem) = ask(&app, &body).await;
    assert_eq!((status, &problem["code"]), (503, &json!("verification_not_configured")));
    let mut named = body.clone();
    named["mint_url"] = json!("https://Other.example/");
    assert_eq!(ask(&app, &named).await.0, 200, "a mint is named");
    let asked = app.asked_for_ticket(key(7)).await;
    assert_eq!((&asked["mint_url"], &asked["unit"]), (&json!("https://other.example"), &json!("multi")));

    let app = with_mint(MINT).await;
    assert!(ask(&app, &body).await.1["stream_id"].is_string());
    let asked = app.asked_for_ticket(key(7)).await;
    assert_eq!((&asked["mint_url"], &asked["amount"]), (&json!(MINT), &json!(1)));
}
