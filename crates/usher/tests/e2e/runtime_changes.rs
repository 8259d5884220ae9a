//! Relays are changed while the service runs.

use serde_json::{Value, json};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;
use usher_testing::relay::{Quirks, QuirkyRelay};

use crate::harness::{Api, LONG, TestUsher, User, introduce, until, wallet_for};

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
    let connected = [(second.url().to_owned(), "connected".to_owned())];
    until("connection", async || api.relays().await == connected).await;
    wallet.approve(&request).unwrap();
    assert_eq!(api.outcome(&stream).await.status(), "approved", "what was open goes on");
}
