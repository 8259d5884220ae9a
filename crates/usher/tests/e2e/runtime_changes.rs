//! Changes while the service runs: relays and the service's profile.

use std::time::Instant;

use serde_json::{Value, json};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;

use crate::harness::{Api, CallError, LONG, TestUsher, User, introduce, wallet_for};

impl Api {
    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let request = self.http.request(method.parse().unwrap(), format!("{}{path}", self.base)).json(&body);
        let answer = request.bearer_auth(&self.token).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Address and status of each relay.
    async fn relays(&self) -> Vec<(String, String)> {
        let answer = self.get("/relays").await.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let relays = answer["relays"].as_array().unwrap().iter();
        relays.map(|relay| (text(&relay["relay"]), text(&relay["status"]))).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_added_and_removed_are_used_at_once_and_after_a_restart() {
    let first = EmbeddedRelay::start().await.unwrap();
    let second = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut usher = TestUsher::builder().relays(&[first.url()]).start().await;
    let api = usher.api();

    let (status, added) = api.send("POST", "/relays", json!({ "relay": second.url() })).await;
    assert_eq!((status, &added["status"], &added["origin"]), (200, &json!("connected"), &json!("added")), "{added}");
    let (status, removed) = api.send("DELETE", "/relays", json!({ "relay": first.url() })).await;
    assert_eq!((status, removed), (200, json!({ "relay": first.url(), "status": "removed" })));
    let (status, error) = api.send("DELETE", "/relays", json!({ "relay": first.url() })).await;
    assert_eq!((status, &error["code"]), (404, &json!("relay_not_found")));

    // At once, and over the new one alone.
    let handshake = api.handshake(json!({})).await;
    assert_eq!(handshake.url.relays, [second.url()]);
    let wallet = wallet_for(Policy::silent()).await;
    introduce(&api, &wallet, &handshake, User::Stubborn).await;
    let stream = api.authenticate(&wallet.main_key(), &[]).await;
    let request = wallet.next_request(LONG).await.expect("a request");

    usher.restart().await;
    let deadline = Instant::now() + LONG;
    while api.relays().await != [(second.url().to_owned(), "connected".to_owned())] {
        assert!(Instant::now() < deadline, "{:?}", api.relays().await);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    wallet.approve(&request).unwrap();
    assert_eq!(api.outcome(&stream).await.status(), "approved", "what was open goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configured_profile_is_made_anew_only_when_it_was_changed() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut usher = TestUsher::builder().relays(&[relay.url()]).set("PROFILE__NAME", "shop").start().await;
    let api = usher.api();
    let us = usher.public_key().to_hex();
    // What the relay has. Each service asks once: it remembers what it was told.
    let published = async |api: &Api, name: &str| {
        let deadline = Instant::now() + LONG;
        loop {
            let known = api.get("/.well-known/nostr.json").await.unwrap();
            if known["names"][name] == us.as_str() {
                break;
            }
            assert!(Instant::now() < deadline, "not published: {known}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        loop {
            let reader = TestUsher::builder().relays(&[relay.url()]).start().await;
            match reader.api().get(&format!("/profile/{us}")).await {
                Ok(found) if found["name"] == name => break found["id"].clone(),
                Ok(_) | Err(CallError::Status(404 | 503, _)) => {}
                Err(error) => panic!("{error:?}"),
            }
            assert!(Instant::now() < deadline, "the relay does not have it");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let first = published(&api, "shop").await;
    usher.restart().await;
    assert_eq!(published(&api, "shop").await, first, "the same event");

    let (status, put) = api.send("PUT", "/profile", json!({ "name": "till" })).await;
    assert_eq!((status, put["id"] != first), (200, true), "{put}");
    usher.restart().await;
    assert_eq!(published(&api, "till").await, put["id"], "the configuration has not changed, so it has nothing to say");

    usher.set("PROFILE__NAME", "market");
    usher.restart().await;
    let changed = published(&api, "market").await;
    assert!(changed != first && changed != put["id"]);
    usher.restart().await;
    assert_eq!(published(&api, "market").await, changed);
}
