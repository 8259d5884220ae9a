//! What somebody sees at the relay who knows the protocol alone (independent_observer.py): a session's key is asked and
//! replies as a user's wallet is asked and replies.

use serde_json::{Value, json};
use usher_mint::{Mint, MintOptions};
use usher_sandbox::relay::EmbeddedRelay;

use crate::harness::{TestUsher, python};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_independent_observer_sees_a_wallet_that_is_asked_and_replies() {
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    let relay = EmbeddedRelay::start().await.unwrap();
    let usher = TestUsher::builder()
        .relays(&[relay.url()])
        .set("CASHU__ALLOW_PRIVATE_MINTS", true)
        .set("VERIFICATION__MINT_URL", mint.url())
        .start()
        .await;
    let api = usher.api();
    let input = json!({
        "relay": relay.url(), "base": api.base, "token": api.token, "service_secret": usher.secret_key_hex()
    });
    let observe = move || python("verification/independent_observer.py", &input.to_string());
    let seen = tokio::task::spawn_blocking(observe).await.unwrap();

    let service = &seen["service"];
    assert_eq!(service, &usher.public_key().to_hex());
    let sessions = seen["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    assert_ne!(sessions[0]["key"], sessions[1]["key"], "each session has a key of its own");
    for (session, status) in sessions.iter().zip(["success", "rejected"]) {
        let (asked, replied, key) = (&session["asked"], &session["replied"], &session["key"]);
        assert_eq!((&asked["signed"], &replied["signed"]), (&json!(true), &json!(true)), "{session}");
        assert_eq!((&asked["from_service"], &asked["to"]), (&json!(true), &json!([key])), "{session}");
        assert_eq!((&replied["from_service"], &replied["to"]), (&json!(false), &json!([service])), "{session}");

        // 29500, and 29501 with the content of 29500 in it.
        let (request, reply) = (&asked["content"], &replied["content"]);
        assert!(request["request_id"].is_string(), "{request}");
        assert!(request["expires_at"].as_str().is_some_and(|at| at.parse::<u64>().is_ok()), "{request}");
        let named = [&request["mint_url"], &request["unit"], &request["amount"]];
        assert_eq!(named, [&json!(mint.url()), &json!("multi"), &json!(1)]);
        assert_eq!(reply["request"], json!({ "inner": request, "main_key": key, "recipient": key }));
        assert_eq!(reply["status"]["status"], status);

        // The app has what the key has said.
        let event: &Value = &session["events"][0];
        assert_eq!((&event["type"], &event["data"]["status"]), (&json!("CashuResponse"), &json!(status)));
        assert_eq!(event["data"]["token"], reply["status"]["token"]);
        assert_eq!(event["data"]["reason"], reply["status"]["reason"]);
        if status == "success" {
            let token = reply["status"]["token"].as_str().unwrap();
            assert!(token.starts_with("cashuB") && !replied["clear"].as_str().unwrap().contains(token));
        }
    }
    assert_eq!((&sessions[0]["decided"], &sessions[1]["decided"]), (&json!("approved"), &json!("rejected")));
}
