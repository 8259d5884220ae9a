//! Age verification sessions, decided by staff.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use usher_engine::ports::MintAuthToken;
use usher_testing::ports::MINT;

use crate::app::{TestApp, key};

async fn open(app: &TestApp) -> Value {
    app.call("POST", "/verification/sessions", json!({})).await.1
}

fn decision_of(session: &str) -> String {
    format!("/verification/sessions/{session}/decision")
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
    let (young, poor) = (json!("too young"), "insufficient_funds");
    let no_mint = "no mint is configured (verification.mint_url)";
    for (decision, reason, status, event) in [
        ("reject", young.clone(), "rejected", json!({ "status": "rejected", "passed": false, "reason": young })),
        ("reject", json!(null), "rejected", json!({ "status": "rejected", "passed": false })),
        ("approve", json!(null), "approved", json!({ "status": poor, "passed": true, "reason": no_mint })),
    ] {
        let session = open(&app).await;
        let id = session["session_id"].as_str().unwrap();
        let (path, body) = (decision_of(id), json!({ "decision": decision, "reason": reason }));
        let decided = app.done("POST", &path, body.clone()).await;
        assert_eq!(decided, json!({ "session_id": id, "status": status }));
        app.refused("POST", &path, body.clone(), (409, "session_decided")).await;
        let told = result(&app, &session).await;
        assert_eq!((&told["type"], &told["data"]), (&json!("CashuResponse"), &event));
        app.refused("POST", &path, body, (409, "session_decided")).await;
    }
}

/// Each open session has a number of its own, also if the random one is taken.
#[tokio::test]
async fn staff_find_open_sessions_by_their_numbers() {
    let app = TestApp::start().await;
    let mut expected = Vec::new();
    for _ in 0..300 {
        expected.push(open(&app).await["session_id"].clone());
    }
    let list = async || {
        app.read("/verification/sessions?status=open&limit=1000").await["sessions"].as_array().unwrap().clone()
    };
    let sessions = list().await;
    assert_eq!(sessions.iter().map(|session| session["session_id"].clone()).collect::<Vec<_>>(), expected);
    let numbers: BTreeSet<_> = sessions.iter().map(|session| session["number"].as_u64().unwrap()).collect();
    assert!(numbers.len() == 300 && numbers.iter().all(|number| *number >= 1_000), "{sessions:?}");
    let of_first = json!({
        "session_id": expected[0], "number": sessions[0]["number"], "status": "open", "minimum_age": 18,
        "created_at": sessions[0]["created_at"], "expires_at": sessions[0]["created_at"].as_u64().unwrap() + 900,
    });
    assert_eq!(sessions[0], of_first);
    app.done("POST", &decision_of(expected[1].as_str().unwrap()), json!({ "decision": "approve" })).await;
    let left: Vec<_> = list().await.iter().map(|session| session["session_id"].clone()).collect();
    expected.remove(1);
    assert_eq!(left, expected);
    app.refused("GET", "/verification/sessions?status=passed", Value::Null, (422, "invalid_request")).await;
}

#[tokio::test]
async fn unknown_sessions_are_404() {
    let app = TestApp::start().await;
    let stream = app.handshake(json!({})).await.0;
    for unknown in ["nothing", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11", "subscriptions", &stream] {
        let body = json!({ "decision": "approve" });
        app.refused("POST", &decision_of(unknown), body, (404, "session_not_found")).await;
    }
}

#[tokio::test]
async fn user_with_a_proof_is_asked_for_it() {
    let body = json!({ "recipient_key": key(7).to_hex(), "subkeys": [] });
    let path = "/verification/token";
    let app = TestApp::start().await;
    app.refused("POST", path, body.clone(), (503, "verification_not_configured")).await;
    let mut named = body.clone();
    named["mint_url"] = json!("https://Other.example/");
    app.done("POST", path, named).await;
    let asked = app.asked_for_ticket(key(7)).await;
    assert_eq!((&asked["mint_url"], &asked["unit"]), (&json!("https://other.example"), &json!("multi")));

    let app = TestApp::with(|of| {
        of.options.verification.mint_url = Some(MINT.to_owned());
        of.options.verification.mint_auth = Some(MintAuthToken("static".to_owned()));
    })
    .await;
    app.done("POST", path, body).await;
    let asked = app.asked_for_ticket(key(7)).await;
    assert_eq!((&asked["mint_url"], &asked["amount"]), (&json!(MINT), &json!(1)));
}
