//! Age verification sessions, decided by staff.

use serde_json::{Value, json};

use usher_engine::VerificationRules;
use usher_engine::ports::{MintAuthToken, TicketError};
use usher_engine::testing::MINT;

use crate::app::{TestApp, key};

async fn open(app: &TestApp) -> Value {
    let response = app.post("/verification/sessions").json(&json!({})).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

async fn decide(app: &TestApp, session: &str, body: &Value) -> (u16, Value) {
    let path = format!("/verification/sessions/{session}/decision");
    let response = app.post(&path).json(body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn result(app: &TestApp, session: &Value) -> Value {
    let target = format!("/events/{}?wait=60", session["stream_id"].as_str().unwrap());
    let page: Value = app.get(&target).send().await.unwrap().json().await.unwrap();
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
    app.stop().await;
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
    app.stop().await;
}

#[tokio::test]
async fn invalid_decisions_are_refused_with_a_reason() {
    let app = TestApp::start().await;
    let session = open(&app).await;
    let id = session["session_id"].as_str().unwrap();
    for (body, pointer) in [
        (json!({}), "/decision"),
        (json!({"decision": "perhaps"}), "/decision"),
        (json!({"decision": true}), "/decision"),
        (json!({"decision": "reject", "reason": 7}), "/reason"),
        (json!({"decision": "reject", "reason": "x".repeat(640)}), "/reason"),
    ] {
        let (code, problem) = decide(&app, id, &body).await;
        assert_eq!((code, &problem["errors"][0]["pointer"]), (422, &json!(pointer)), "{body}: {problem}");
    }
    let stream = app.handshake(json!({})).await.0;
    for unknown in ["nothing", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11", "subscriptions", &stream] {
        let (code, problem) = decide(&app, unknown, &json!({"decision": "approve"})).await;
        assert_eq!((code, &problem["code"]), (404, &json!("session_not_found")), "{unknown}");
    }
    assert_eq!(decide(&app, id, &json!({"decision": "approve"})).await.0, 200, "nothing of this decided it");
    app.stop().await;
}

#[tokio::test]
async fn repeated_request_with_a_key_runs_once() {
    let app = TestApp::start().await;
    let open_once = || app.post("/verification/sessions").header("idempotency-key", "a").json(&json!({}));
    let first: Value = open_once().send().await.unwrap().json().await.unwrap();
    let again: Value = open_once().send().await.unwrap().json().await.unwrap();
    assert_eq!(first, again);
    let path = format!("/verification/sessions/{}/decision", first["session_id"].as_str().unwrap());
    for _ in 0..2 {
        let decision = json!({"decision": "reject"});
        let response = app.post(&path).header("idempotency-key", "b").json(&decision).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.json::<Value>().await.unwrap()["status"], "rejected");
    }
    result(&app, &first).await;
    app.stop().await;
}

/// A service whose proofs are minted there.
async fn with_mint(mint_url: &str) -> TestApp {
    let verification = VerificationRules {
        mint_url: Some(mint_url.to_owned()),
        mint_auth: Some(MintAuthToken("static".to_owned())),
        ..VerificationRules::default()
    };
    crate::app::Builder { verification, ..TestApp::builder() }.start().await
}

#[tokio::test]
async fn approved_user_gets_a_proof_the_app_can_redeem() {
    let app = with_mint(MINT).await;
    let session = open(&app).await;
    let id = session["session_id"].as_str().unwrap();
    assert_eq!(decide(&app, id, &json!({"decision": "approve"})).await.0, 200);
    let told = result(&app, &session).await;
    let data = &told["data"];
    assert_eq!((&told["type"], &data["status"]), (&json!("CashuResponse"), &json!("success")));
    assert_eq!((&data["amount"], &data["unit"], &data["mint_url"]), (&json!(1), &json!("multi"), &json!(MINT)));
    let burn = json!({ "mint_url": MINT, "unit": "multi", "token": data["token"] });
    assert_eq!(app.post("/cashu/burn").json(&burn).send().await.unwrap().status(), 200);
    app.stop().await;
}

#[tokio::test]
async fn mint_refusal_is_reported_with_its_reason() {
    let app = with_mint(MINT).await;
    app.tickets.fail(MINT, || TicketError::Refused("minting is disabled".to_owned()));
    let session = open(&app).await;
    let id = session["session_id"].as_str().unwrap();
    assert_eq!(decide(&app, id, &json!({"decision": "approve"})).await.0, 200);
    let told = result(&app, &session).await;
    assert_eq!(told["data"]["status"], "insufficient_funds");
    let reason = told["data"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the proof could not be issued: the mint refused"), "{reason}");
    app.stop().await;
}

#[tokio::test]
async fn user_with_a_proof_is_asked_for_it() {
    let body = json!({ "recipient_key": key(7).to_hex(), "subkeys": [] });
    let app = TestApp::start().await;
    let response = app.post("/verification/token").json(&body).send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.json::<Value>().await.unwrap()["code"], "verification_not_configured");
    let mut named = body.clone();
    named["mint_url"] = json!("https://Other.example/");
    let response = app.post("/verification/token").json(&named).send().await.unwrap();
    assert_eq!(response.status(), 200, "a mint is named");
    let asked = app.asked_for_ticket(key(7)).await;
    assert_eq!((&asked["mint_url"], &asked["unit"]), (&json!("https://other.example"), &json!("multi")));
    app.stop().await;

    let app = with_mint(MINT).await;
    let response = app.post("/verification/token").json(&body).send().await.unwrap();
    assert!(response.json::<Value>().await.unwrap()["stream_id"].is_string());
    let asked = app.asked_for_ticket(key(7)).await;
    assert_eq!((&asked["mint_url"], &asked["amount"]), (&json!(MINT), &json!(1)));
    for (body, pointer) in [
        (json!({ "subkeys": [] }), "/recipient_key"),
        (json!({ "recipient_key": key(7).to_hex(), "subkeys": [], "mint_url": "ftp://x" }), "/mint_url"),
    ] {
        let response = app.post("/verification/token").json(&body).send().await.unwrap();
        assert_eq!(response.status(), 422);
        assert_eq!(response.json::<Value>().await.unwrap()["errors"][0]["pointer"], pointer);
    }
    app.stop().await;
}
