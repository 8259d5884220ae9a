//! The service is killed at fail points.

use std::time::Duration;

use serde_json::json;
use usher_sandbox::wallet::{DeliveryStatus, Identity, Policy, Wallet, WalletOptions};

use super::{dice, pause, service};
use crate::harness::{LONG, TestUsher, User, caught_up, introduce, wallet_for};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_test_tools::soak;

/// As [`service`], but nothing expires while a test runs.
async fn patient_service() -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

/// Kills and starts the service, and waits until the relay has its subscription.
async fn crash(relay: &QuirkyRelay, usher: &mut TestUsher) {
    let wallets = relay.metrics().reqs;
    usher.restart().await;
    relay.wait_for(LONG, |metrics| metrics.reqs > wallets).await.expect("the service subscribes again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_after_the_answer_the_stream_is_there() {
    let mut dice = dice();
    let (_relay, mut usher) = patient_service().await;
    let api = usher.api();
    let user = Identity::generate().public_key();
    let mut streams = Vec::new();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    for _ in 0..soak::repetitions(8) {
        // Several at once; the first response is the signal, and all other responses are checked, too.
        let calls: Vec<_> = (0..6)
            .map(|number| {
                let api = api.clone();
                tokio::spawn(async move {
                    match number % 2 {
                        0 => api.try_handshake(&json!({})).await.map(|handshake| handshake.stream),
                        _ => api.try_authenticate(&user.to_hex(), &[]).await,
                    }
                })
            })
            .collect();
        let mut answered = futures_util::future::select_all(calls).await;
        usher.kill();
        streams.push(answered.0.unwrap().expect("the first answer"));
        while !answered.2.is_empty() {
            answered = futures_util::future::select_all(answered.2).await;
            streams.extend(answered.0.unwrap().ok());
        }
        // Killed while it starts, too.
        usher.spawn();
        pause(&mut dice, 80).await;
        usher.restart().await;
        for stream in &streams {
            let (events, done) = api.events(stream).await;
            assert!(events.is_empty() && !done);
        }
        let again = api.handshake(json!({"static_token": "door"})).await;
        assert_eq!(
            (&again.stream, &again.url),
            (&reusable.stream, &reusable.url),
            "a static token is the same for ever"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_asked_before_can_be_answered_after() {
    let (relay, mut usher) = patient_service().await;
    let api = usher.api();
    let wallet = wallet_for(Policy::silent()).await;
    let first = api.handshake(json!({})).await;
    let second = api.handshake(json!({})).await;
    introduce(&api, &wallet, &first, User::Once).await;
    let (yes, no) = (api.authenticate(&wallet.main_key(), &[]).await, api.authenticate(&wallet.main_key(), &[]).await);
    // These two are asked for the first time after the crash, or again.
    let requests = [wallet.next_request(LONG).await.unwrap(), wallet.next_request(LONG).await.unwrap()];

    crash(&relay, &mut usher).await;
    wallet.approve(&requests[0]).unwrap();
    wallet.decline(&requests[1], None).unwrap();
    wallet.open(&second.url, LONG).await.unwrap();
    let mut said = [api.outcome(&yes).await, api.outcome(&no).await];
    said.sort_by(|a, b| a.status().cmp(b.status()));
    assert_eq!(said.each_ref().map(|event| event.status()), ["approved", "declined"]);
    assert_eq!(api.outcome(&second.stream).await.main_key(), wallet.main_key().to_hex());

    // Nothing that is over is begun again.
    crash(&relay, &mut usher).await;
    wallet.approve(&requests[1]).unwrap();
    wallet.open(&second.url, LONG).await.unwrap();
    caught_up(&api, &wallet).await;
    for stream in [&yes, &no, &first.stream, &second.stream] {
        assert_eq!(api.finished(stream).await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_given_while_it_was_away_is_asked_for_again() {
    let (relay, mut usher) = patient_service().await;
    let api = usher.api();
    let user = Identity::generate();
    let options = WalletOptions::new(user.clone()).relay(relay.url());
    let wallet = Wallet::start(options).await;
    let stream = api.authenticate(&user.public_key(), &[]).await;
    let request = wallet.next_request(LONG).await.unwrap();
    usher.kill();
    relay.wait_for(LONG, |metrics| metrics.open_connections == 1).await.expect("the wallet's alone");
    // Ephemeral: the relay forwards it to nobody.
    wallet.approve(&request).unwrap();
    assert_eq!(wallet.flush(LONG).await, DeliveryStatus::Accepted);
    usher.restart().await;
    assert_eq!(api.outcome(&stream).await.status(), "approved");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_wait_see_the_end() {
    let (relay, mut usher) = patient_service().await;
    let api = usher.api();
    let wallet = wallet_for(Policy::silent()).await;
    let handshake = api.handshake(json!({})).await;
    let polling = {
        let (api, stream) = (api.clone(), handshake.stream.clone());
        tokio::spawn(async move {
            let mut broken = 0;
            loop {
                match api.try_events(&stream, 0, 30).await {
                    Ok(page) if page.done => return (page.events, broken),
                    Ok(_) => {}
                    Err(_) => {
                        broken += 1;
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        })
    };
    // The poll is under way when the service dies.
    api.long_polls(1).await;
    crash(&relay, &mut usher).await;
    wallet.open(&handshake.url, LONG).await.unwrap();
    let (events, broken) = tokio::time::timeout(LONG, polling).await.expect("an end").unwrap();
    assert_eq!(events[0].main_key(), wallet.main_key().to_hex());
    assert!(broken > 0, "the poll was cut off");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expires_while_it_is_away_has_expired() {
    let (_relay, mut usher) = service().await;
    let api = usher.api();
    let handshake = api.handshake(json!({})).await;
    let authentication = api.authenticate(&Identity::generate().public_key(), &[]).await;
    usher.kill();
    tokio::time::sleep(Duration::from_secs(super::TTL + 1)).await;
    usher.restart().await;
    for stream in [&handshake.stream, &authentication] {
        let event = api.outcome(stream).await;
        assert_eq!((event.kind.as_str(), event.status()), ("StatusUpdate", "timeout"));
    }
}
