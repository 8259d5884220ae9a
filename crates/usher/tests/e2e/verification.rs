//! Age verification sessions of the whole program: over a real relay, across crashes, and what the log knows of them.

mod fixture;
mod observer;
mod oidc;
mod proofs;
mod remote;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::{Event, keys, kind};

use crate::harness::{Api, Builder, CallError, HandmadeWallet, LONG, TestUsher};

/// A mint that nobody asks here.
const MINT: &str = "http://127.0.0.1:9";

async fn service(set: impl FnOnce(Builder) -> Builder) -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = set(TestUsher::builder().relays(&[relay.url()])).start().await;
    relay.wait_for(LONG, |counts| counts.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

struct Session {
    id: String,
    url: String,
    npub: String,
}

async fn open(api: &Api) -> Session {
    let session = api.post("/verification/sessions", &json!({})).await.unwrap();
    let text = |name: &str| session[name].as_str().unwrap().to_owned();
    assert_eq!(session["session_id"], session["stream_id"]);
    Session { id: text("session_id"), url: text("session_url"), npub: text("ephemeral_npub") }
}

async fn decide(api: &Api, session: &Session, decision: &Value) {
    api.post(&format!("/verification/sessions/{}/decision", session.id), decision).await.unwrap();
}

/// The events of this kind that have passed the relay, when there is one of them from or to the session's key.
async fn passed(relay: &QuirkyRelay, wanted: u16, is_wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
    let deadline = Instant::now() + LONG;
    loop {
        let seen = relay.seen().into_iter().filter(|event| event.kind.as_u16() == wanted && is_wanted(event));
        let seen: Vec<_> = seen.collect();
        if !seen.is_empty() {
            return seen;
        }
        assert!(Instant::now() < deadline, "no event of kind {wanted}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_to(event: &Event, npub: &str) -> bool {
    event.tags.public_keys().any(|key| keys::npub(key) == npub)
}

#[tokio::test]
async fn the_sessions_key_is_asked_and_replies_over_the_relays_as_a_wallet_does() {
    let (relay, usher) = service(|builder| builder.set("VERIFICATION__MINT_URL", MINT)).await;
    let api = usher.api();
    let session = open(&api).await;
    let asked = passed(&relay, kind::CASHU_REQUEST, |event| is_to(event, &session.npub)).await;
    assert_eq!(asked[0].pubkey, usher.public_key());
    decide(&api, &session, &json!({"decision": "reject", "reason": "too young"})).await;
    let event = api.outcome(&session.id).await;
    assert_eq!((event.kind.as_str(), event.status()), ("CashuResponse", "rejected"));
    assert_eq!(event.data["reason"], "too young");
    let replies = passed(&relay, kind::CASHU_RESPONSE, |event| keys::npub(&event.pubkey) == session.npub).await;
    assert!(is_to(&replies[0], &keys::npub(&usher.public_key())));
    replies[0].verify().expect("signed by the session's key");
    assert!(!replies[0].content.contains("too young"), "encrypted");
    assert!(api.metric("usher_relay_delivered_total").await >= 1, "the service has received it");
}

#[tokio::test]
async fn without_any_configuration_of_its_own_staff_decide_and_a_pass_says_what_is_missing() {
    let (_relay, usher) = service(|builder| builder).await;
    let api = usher.api();
    for (decision, status, reason) in [
        (json!({"decision": "approve"}), "insufficient_funds", json!("no mint is configured (verification.mint_url)")),
        (json!({"decision": "reject", "reason": "no document"}), "rejected", json!("no document")),
        (json!({"decision": "reject"}), "rejected", Value::Null),
    ] {
        let session = open(&api).await;
        let page = api.http.get(&session.url).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("The staff of the service.") && page.contains("at least 18 years old"), "{page}");
        decide(&api, &session, &decision).await;
        let event = api.outcome(&session.id).await;
        assert_eq!((event.kind.as_str(), event.status()), ("CashuResponse", status));
        assert_eq!((&event.data["reason"], &event.data["token"]), (&reason, &Value::Null));
        let late = api.post(&format!("/verification/sessions/{}/decision", session.id), &decision).await;
        assert!(matches!(late, Err(CallError::Status(409, body)) if body["code"] == "session_decided"));
    }
    let body = json!({"recipient_key": HandmadeWallet::new().public_key().to_hex(), "subkeys": []});
    let asked = api.post("/verification/token", &body).await;
    let Err(CallError::Status(503, problem)) = asked else { panic!("{asked:?}") };
    assert_eq!(problem["code"], "verification_not_configured");
    assert!(problem["detail"].as_str().unwrap().contains("verification.mint_url"), "{problem}");
}

#[tokio::test]
async fn without_a_relay_a_session_has_the_same_result() {
    let usher = TestUsher::builder().relays(&["ws://127.0.0.1:9"]).set("VERIFICATION__MINT_URL", MINT).start().await;
    let api = usher.api();
    let session = open(&api).await;
    decide(&api, &session, &json!({"decision": "reject"})).await;
    assert_eq!(api.outcome(&session.id).await.status(), "rejected");
}

#[tokio::test]
async fn a_decision_that_was_acknowledged_survives_a_crash() {
    let mut usher =
        TestUsher::builder().relays(&["ws://127.0.0.1:9"]).set("VERIFICATION__MINT_URL", MINT).start().await;
    let api = usher.api();
    let (open_one, decided) = (open(&api).await, open(&api).await);
    decide(&api, &decided, &json!({"decision": "reject", "reason": "no document"})).await;
    usher.restart().await;
    let event = api.outcome(&decided.id).await;
    assert_eq!((event.status(), &event.data["reason"]), ("rejected", &json!("no document")));
    let page = |session: &Session| api.http.get(&session.url).send();
    let html = page(&open_one).await.unwrap().text().await.unwrap();
    assert!(html.contains("Waiting for the staff"), "{html}");
    let html = page(&decided).await.unwrap().text().await.unwrap();
    assert!(html.contains("You did not pass"), "{html}");
    decide(&api, &open_one, &json!({"decision": "reject"})).await;
    assert_eq!(api.outcome(&open_one.id).await.status(), "rejected");
}

/// The state of a session's page, as its script first learns it.
async fn state(api: &Api, session: &Session) -> String {
    let mut events = api.http.get(format!("{}/events", session.url)).send().await.unwrap();
    let first = events.chunk().await.unwrap().unwrap();
    std::str::from_utf8(&first).unwrap().trim_end().strip_prefix("data: ").unwrap().to_owned()
}

#[tokio::test]
async fn the_page_needs_no_token_and_its_secret_stays_out_of_the_log() {
    let (_relay, usher) = service(|builder| builder.log_level("trace,hyper=info")).await;
    let api = usher.api();
    let session = open(&api).await;
    let secret = session.url.rsplit('/').next().unwrap().to_owned();
    let page = api.http.get(&session.url).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.headers()["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    assert_eq!(state(&api, &session).await, "open");
    let wrong = session.url.replace(&secret, "wrong");
    assert_eq!(api.http.get(&wrong).send().await.unwrap().status(), 404);
    let log = usher.log();
    assert!(log.contains("/verify/{session_id}/{secret}"), "the route is logged");
    assert!(!log.contains(&secret), "the secret is not");
}
