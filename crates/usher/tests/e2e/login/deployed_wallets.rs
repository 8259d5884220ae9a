//! Wallets as people have them: they know a repetition by its event alone, lose what arrives right behind something else, and
//! send a token as it stands in the URL.

use std::time::Duration;

use serde_json::json;
use usher_protocol::subkey::Permission;
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use super::service;
use crate::harness::{CallError, User, device, introduce, now};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_takes_their_time_is_asked_once_and_any_token_works() {
    let (relay, usher) = service().await;
    let api = usher.api();
    // Long enough for two repetitions.
    let policy = Policy::auto_approve().after(Duration::from_secs(7));
    let wallet =
        Wallet::start(WalletOptions::new(Identity::generate()).relay(relay.url()).policy(policy).deployed()).await;
    let handshake = api.handshake(json!({"static_token": "bar/1%2?&#"})).await;
    introduce(&api, &wallet, &handshake, User::Once).await;
    let event = api.outcome(&api.authenticate(&wallet.main_key(), &[]).await).await;
    assert_eq!(event.status(), "approved");
    let requests = wallet.requests();
    assert_eq!((requests.len(), requests[0].answers), (1, 1), "one prompt");
    assert!(api.metric("usher_messages_sent_total").await >= 3, "it was repeated");
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
        "created_at": listed["handshakes"][0]["created_at"], "accepted": 1, "waiting": 0, "refused": 0,
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
