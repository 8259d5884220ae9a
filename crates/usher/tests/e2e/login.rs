//! All ways to log in.

mod deployed_wallets;
mod devices;
mod kept_signers;
mod on_the_page;
mod own_relays;
mod passkeys;
mod remote_signers;
mod reusable;
mod reusable_pages;
mod stream_readers;
mod waiting_page;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;

use crate::harness::{LONG, TestUsher, User, caught_up, introduce, wallet_for};

/// A service that listens at one relay which loses nothing.
async fn service() -> (QuirkyRelay, TestUsher) {
    service_with(TestUsher::builder()).await
}

async fn service_with(builder: crate::harness::Builder) -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = builder.relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_scans_approves_and_is_logged_in() {
    // The relay of others' making: what we speak is Nostr, not our own idea of it.
    let relay = EmbeddedRelay::start().await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    let api = usher.api();

    let handshake = api.handshake(json!({})).await;
    assert_eq!(handshake.url.scheme, "nostr+walletconnect");
    assert_eq!(handshake.url.main_key, usher.public_key());
    assert_eq!(handshake.url.relays, [relay.url()]);
    assert!(handshake.url.token.len() >= 22, "a token of 128 bits and more");
    assert!(!handshake.url.no_request);
    let (events, done) = api.events(&handshake.stream).await;
    assert!(events.is_empty() && !done);

    let wallet = wallet_for(Policy::silent()).await;
    let event = introduce(&api, &wallet, &handshake, User::Stubborn).await;
    assert_eq!(event.index, 0);
    assert_eq!(event.data["preferred_relays"], json!([relay.url()]));
    assert!(api.events(&handshake.stream).await.1, "a single-use handshake is done");

    let stream = api.authenticate(&wallet.main_key(), &[]).await;
    let request = wallet.next_request(LONG).await.expect("a request");
    assert_eq!(request.from, usher.public_key());
    assert!(api.events(&stream).await.0.is_empty(), "nothing is said before the user has decided");
    wallet.approve(&request).unwrap();
    let event = api.outcome(&stream).await;
    assert_eq!(event.kind, "StatusUpdate");
    assert_eq!(event.data["status"], "approved");
    assert_eq!(event.data["main_key"], wallet.main_key().to_hex());
    assert_eq!(event.data["granted_permissions"], json!([]));

    // A later change of mind changes nothing.
    wallet.decline(&request, Some("no, after all")).unwrap();
    caught_up(&api, &wallet).await;
    assert_eq!(api.events(&stream).await, (vec![event], true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_declines() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let wallet = wallet_for(Policy::auto_decline(Some("not today\u{202e}\n"))).await;
    let handshake = api.handshake(json!({})).await;
    introduce(&api, &wallet, &handshake, User::Once).await;
    let event = api.outcome(&api.authenticate(&wallet.main_key(), &[]).await).await;
    assert_eq!(event.status(), "declined");
    assert_eq!(event.data["reason"], "not today", "a stranger's words are made harmless");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_answers() {
    let builder = TestUsher::builder().set("HANDSHAKE__TTL_SECONDS", 2).set("AUTH__CHALLENGE_TTL_SECONDS", 2);
    let (_relay, usher) = service_with(builder).await;
    let api = usher.api();
    let wallet = wallet_for(Policy::silent()).await;
    let handshake = api.handshake(json!({})).await;
    let authentication = api.authenticate(&wallet.main_key(), &[]).await;
    for stream in [&handshake.stream, &authentication] {
        let event = api.outcome(stream).await;
        assert_eq!((event.kind.as_str(), event.status()), ("StatusUpdate", "timeout"));
    }

    // Too late is too late.
    const UNMATCHED: &str = "usher_wallet_messages_total{match=\"none\"}";
    let before = api.metric(UNMATCHED).await;
    wallet.open(&handshake.url, LONG).await.unwrap();
    api.until_metric(UNMATCHED, before + 1).await;
    assert_eq!(api.events(&handshake.stream).await.0.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_answer_still_counts() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    // Later than the first repetition of the challenge.
    let wallet = wallet_for(Policy::auto_approve().after(Duration::from_secs(25))).await;
    let handshake = api.handshake(json!({})).await;
    introduce(&api, &wallet, &handshake, User::Once).await;
    let event = api.outcome(&api.authenticate(&wallet.main_key(), &[]).await).await;
    assert_eq!(event.status(), "approved");
    assert!(wallet.requests()[0].times > 1, "the challenge was repeated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_static_token_serves_many_users() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let handshake = api.handshake(json!({"static_token": "table 7".replace(' ', "-")})).await;
    assert_eq!(handshake.url.token, "table-7");
    let again = api.handshake(json!({"static_token": "table-7"})).await;
    assert_eq!((&again.stream, &again.url), (&handshake.stream, &handshake.url));
    let other = api.handshake(json!({"static_token": "table-8"})).await;
    assert_ne!(other.stream, handshake.stream);

    let wallets = join_all((0..6).map(|_| wallet_for(Policy::auto_approve()))).await;
    for opened in join_all(wallets.iter().map(|wallet| wallet.open(&handshake.url, LONG))).await {
        opened.expect("opened");
    }
    let events = api.at_least(&handshake.stream, wallets.len()).await;
    let mut told: Vec<_> = events.iter().map(|event| event.main_key().to_owned()).collect();
    let mut users: Vec<_> = wallets.iter().map(|wallet| wallet.main_key().to_hex()).collect();
    told.sort();
    users.sort();
    assert_eq!(told, users, "one event for each user");
    let (_, done) = api.events(&handshake.stream).await;
    assert!(!done, "a reusable handshake is never done");
    assert!(api.events(&other.stream).await.0.is_empty());

    for wallet in &wallets {
        let event = api.outcome(&api.authenticate(&wallet.main_key(), &[]).await).await;
        assert_eq!(event.status(), "approved");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_without_request() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let handshake = api.handshake(json!({"no_request": true})).await;
    assert!(handshake.url.no_request);
    let wallet = wallet_for(Policy::auto_approve()).await;
    assert!(wallet.open(&handshake.url, LONG).await.unwrap().no_request, "the wallet is told");
    let event = api.outcome(&handshake.stream).await;
    assert_eq!(event.main_key(), wallet.main_key().to_hex());
    assert_eq!(api.outcome(&api.authenticate(&wallet.main_key(), &[]).await).await.status(), "approved");
    assert_eq!(wallet.requests().len(), 1, "that one");
    assert_eq!(relay.metrics().events_of(usher_protocol::kind::AUTH_CHALLENGE), 1, "nothing was asked before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wallets_that_open_another_scheme() {
    let (_relay, usher) = service_with(TestUsher::builder().set("NOSTR__URL_SCHEME", "portal")).await;
    let api = usher.api();
    let handshake = api.handshake(json!({})).await;
    assert_eq!(handshake.url.scheme, "portal");
    let wallet = wallet_for(Policy::silent()).await;
    introduce(&api, &wallet, &handshake, User::Once).await;
}
