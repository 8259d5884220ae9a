//! Wallets as people have them: they know a repetition by its event alone, lose what arrives right behind something else,
//! send a token as it stands in the URL, and wait ten seconds for each `OK`.

use std::time::Duration;

use serde_json::json;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::subkey::Permission;
use usher_protocol::{PublicKey, kind};
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use super::service;
use crate::harness::{Api, CallError, HandmadeWallet, LONG, TestUsher, User, device, introduce, now, wallet_for};

/// A service that listens at one relay with these quirks.
async fn service_at(quirks: Quirks) -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(quirks).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

/// Approves each copy of each challenge, one after the other, in ten seconds each: for so long the library of deployed wallets
/// waits for an `OK` that does not come.
async fn approve_slowly(user: &HandmadeWallet, relay: &QuirkyRelay, service: PublicKey) {
    let mut read = 0;
    loop {
        if let Some(event) = relay.seen().get(read) {
            read += 1;
            if let Some(challenge) = user.read_challenge(event) {
                tokio::time::sleep(Duration::from_secs(10)).await;
                relay.inject(user.approval(service, &challenge.challenge, None));
            }
        } else {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Five logins of this user, one after the other.
async fn five_logins(api: &Api, user: &HandmadeWallet) {
    for number in 1..=5 {
        let event = api.outcome(&api.authenticate(&user.public_key(), &[]).await).await;
        assert_eq!(event.status(), "approved", "login {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_logins_in_a_row_over_a_relay_that_sends_no_ok() {
    let (relay, usher) = service_at(Quirks { no_ok_for_ephemeral: true, ..Quirks::default() }).await;
    let (api, user) = (usher.api(), HandmadeWallet::new());
    tokio::select! {
        () = approve_slowly(&user, &relay, usher.public_key()) => {}
        () = five_logins(&api, &user) => {}
    }
    assert_eq!(relay.metrics().events_of(kind::AUTH_CHALLENGE), 5, "none is repeated before its reply can be there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_over_a_relay_that_loses_every_second_message() {
    let quirks = Quirks { no_ok_for_ephemeral: true, loses_every_second: true, ..Quirks::default() };
    let (relay, usher) = service_at(quirks).await;
    let api = usher.api();
    let wallet = wallet_for(Policy::auto_approve()).await;
    introduce(&api, &wallet, &api.handshake(json!({})).await, User::Stubborn).await;
    let event = api.outcome(&api.authenticate(&wallet.main_key(), &[]).await).await;
    assert_eq!(event.status(), "approved");
    let sent = relay.metrics().events_of(kind::AUTH_CHALLENGE);
    assert!((2..=4).contains(&sent), "{sent}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_takes_their_time_is_asked_once_and_any_token_works() {
    let (relay, usher) = service().await;
    let api = usher.api();
    // Long enough for a repetition.
    let policy = Policy::auto_approve().after(Duration::from_secs(25));
    let wallet =
        Wallet::start(WalletOptions::new(Identity::generate()).relay(relay.url()).policy(policy).deployed()).await;
    let handshake = api.handshake(json!({"static_token": "bar/1%2?&#"})).await;
    introduce(&api, &wallet, &handshake, User::Once).await;
    let event = api.outcome(&api.authenticate(&wallet.main_key(), &[]).await).await;
    assert_eq!(event.status(), "approved");
    let requests = wallet.requests();
    assert_eq!((requests.len(), requests[0].answers), (1, 1), "one prompt");
    assert!(api.metric("usher_messages_sent_total").await >= 2, "it was repeated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_beside_the_main_key_gets_its_copy() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let user = Identity::generate();
    let phone = device(&user, &[Permission::Auth], now() - 60, now() + 3600);
    let keys = [phone.public_key()];
    let options = WalletOptions::new(phone).relay(relay.url()).policy(Policy::auto_approve()).deployed();
    let wallet = Wallet::start(options).await;
    for _ in 0..5 {
        let event = api.outcome(&api.authenticate(&user.public_key(), &keys).await).await;
        assert_eq!((event.status(), event.main_key()), ("approved", user.public_key().to_hex().as_str()));
    }
    assert_eq!(wallet.requests().len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poster_is_listed_and_taken_down() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let wallet = Wallet::start(WalletOptions::new(Identity::generate()).relay(relay.url()).deployed()).await;
    let poster = api.handshake(json!({"static_token": "poster"})).await;
    introduce(&api, &wallet, &poster, User::Once).await;
    let listed = api.get("/key-handshake?limit=5").await.unwrap();
    let expected = json!({
        "stream_id": poster.stream, "static_token": "poster", "url": poster.url.to_string(), "no_request": false, "login": false,
        "created_at": listed["handshakes"][0]["created_at"], "accepted": 1, "refused": 0,
    });
    assert_eq!(listed, json!({"handshakes": [expected], "next": null}));
    let closed = json!({"stream_id": poster.stream, "status": "closed"});
    for _ in 0..2 {
        assert_eq!(api.delete(&format!("/key-handshake/{}", poster.stream)).await.unwrap(), closed);
    }
    assert!(api.events(&poster.stream).await.1, "the stream is done");
    assert_eq!(api.get("/key-handshake").await.unwrap(), json!({"handshakes": [], "next": null}));
    assert_ne!(api.handshake(json!({"static_token": "poster"})).await.stream, poster.stream);
    for unknown in ["subscriptions", "x", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11"] {
        match api.delete(&format!("/key-handshake/{unknown}")).await {
            Err(CallError::Status(404, problem)) => assert_eq!(problem["code"], "stream_not_found"),
            other => panic!("{other:?}"),
        }
    }
}
