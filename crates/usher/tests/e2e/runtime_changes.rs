//! Changes while the service runs: relays and the service's profile.

use std::time::Instant;

use serde_json::{Value, json};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::kind;
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;

use crate::harness::{Api, CallError, HandmadeWallet, LONG, TestUsher, User, introduce, wallet_for};

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
async fn the_last_relay_may_go_and_what_is_open_waits_for_the_next() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    let api = usher.api();
    let wallet = wallet_for(Policy::silent()).await;
    introduce(&api, &wallet, &api.handshake(json!({})).await, User::Stubborn).await;
    let stream = api.authenticate(&wallet.main_key(), &[]).await;
    let request = wallet.next_request(LONG).await.expect("a request");

    let (status, removed) = api.send("DELETE", "/relays", json!({ "relay": relay.url() })).await;
    assert_eq!((status, &removed["status"]), (200, &json!("removed")));
    for restarted in [false, true] {
        if restarted {
            usher.restart().await;
        }
        assert_eq!(api.relays().await, []);
        let not_ready = api.get("/health/ready").await;
        assert!(
            matches!(&not_ready, Err(CallError::Status(503, problem)) if problem["code"] == "no_relay_connected"),
            "{not_ready:?}"
        );
        let unknown = api.get(&format!("/profile/{}", wallet.main_key().to_hex())).await;
        assert!(
            matches!(&unknown, Err(CallError::Status(503, problem)) if problem["code"] == "no_relay_connected"),
            "{unknown:?}"
        );
        assert_eq!(api.events(&stream).await.0.len(), 0, "it is open");
    }
    assert!(usher.log().contains("the service has no relay left"), "{}", usher.log());

    // Nobody receives it, because nobody is connected; the next request sends it again.
    wallet.approve(&request).unwrap();
    let (status, added) = api.send("POST", "/relays", json!({ "relay": relay.url() })).await;
    assert_eq!(
        (status, &added["status"], &added["origin"]),
        (200, &json!("connected"), &json!("configured")),
        "{added}"
    );
    let deadline = Instant::now() + LONG;
    let event = loop {
        if let (events, true) = api.events(&stream).await {
            break events.into_iter().next().expect("an event");
        }
        assert!(Instant::now() < deadline, "the answer is never heard");
        wallet.approve(&request).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    assert_eq!(event.status(), "approved", "what was open goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configured_profile_is_published_and_found() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let usher = TestUsher::builder()
        .relays(&[relay.url()])
        .set("PROFILE__NAME", "shop")
        .set("PROFILE__DISPLAY_NAME", "The Shop")
        .start()
        .await;
    let api = usher.api();
    let us = usher.public_key().to_hex();

    // Another service, which does not know this one, finds it.
    let other = TestUsher::builder().relays(&[relay.url()]).start().await;
    let deadline = Instant::now() + LONG;
    let found = loop {
        match other.api().get(&format!("/profile/{us}")).await {
            Ok(found) => break found,
            Err(CallError::Status(404 | 503, _)) => {}
            Err(error) => panic!("{error:?}"),
        }
        // It is kept for a minute that there is none; so the second service asks at last when it has been published.
        assert!(Instant::now() < deadline + LONG, "no profile");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    };
    assert_eq!(
        (&found["pubkey"], &found["name"], &found["display_name"]),
        (&json!(us), &json!("shop"), &json!("The Shop"))
    );
    assert_eq!((&found["picture"], &found["nip05"]), (&Value::Null, &Value::Null));

    let (status, changed) = api.send("PUT", "/profile", json!({ "name": "shop2" })).await;
    assert_eq!((status, &changed["name"], &changed["display_name"]), (200, &json!("shop2"), &Value::Null), "{changed}");
    let (status, error) = api.send("PUT", "/profile", json!({ "name": "shop 2" })).await;
    assert_eq!((status, &error["errors"][0]["pointer"]), (422, &json!("/name")));
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_users_profile_is_found_at_the_relay_that_their_wallet_named() {
    let (ours, theirs) = (QuirkyRelay::start(Quirks::default()).await.unwrap(), EmbeddedRelay::start().await.unwrap());
    let user = HandmadeWallet::new();
    // Somebody else's program publishes it, at the user's relay alone.
    let publisher = TestUsher::builder().keys(user.keys.clone()).relays(&[theirs.url()]).set("PROFILE__NAME", "ada");
    let _publisher = publisher.start().await;

    let deadline = Instant::now() + LONG;
    let found = loop {
        // What was not found is remembered for a minute: a service that has not asked yet.
        let usher = TestUsher::builder().relays(&[ours.url()]).set("NOSTR__ALLOW_PRIVATE_RELAYS", true).start().await;
        let (api, us) = (usher.api(), usher.public_key());
        let handshake = api.handshake(json!({})).await;
        let text = json!({ "token": handshake.url.token, "preferred_relays": [theirs.url()] }).to_string();
        while api.get("/relays").await.unwrap()["relays"][0]["subscribed"] != true {
            assert!(Instant::now() < deadline, "it does not listen");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        ours.inject(user.seal(us, kind::KEY_HANDSHAKE, &text));
        api.outcome(&handshake.stream).await;
        match api.get(&format!("/profile/{}", user.public_key().to_hex())).await {
            Ok(found) => break found,
            Err(CallError::Status(404, _)) => assert!(Instant::now() < deadline, "it is not found"),
            Err(error) => panic!("{error:?}"),
        }
    };
    assert_eq!((&found["name"], &found["pubkey"]), (&json!("ada"), &json!(user.public_key().to_hex())));
}
