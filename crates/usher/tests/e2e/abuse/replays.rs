//! Captured events that are replayed: at once, in another order, later, after a crash.

use serde_json::json;
use usher_protocol::Event;

use super::caught_up;
use crate::harness::{HandmadeWallet, LONG, TestUsher};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_counts_once() {
    let (relay, mut usher) = TestUsher::builder().start_at_relay().await;
    let (api, service) = (usher.api(), usher.public_key());
    let user = HandmadeWallet::new();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    let single = api.handshake(json!({})).await;
    let mut overheard = vec![user.handshake(&reusable.url), user.handshake(&single.url)];
    overheard.iter().for_each(|event| relay.inject(event.clone()));
    api.outcome(&single.stream).await;
    api.at_least(&reusable.stream, 1).await;

    let mut streams = vec![single.stream.clone()];
    let mut challenges = Vec::new();
    for status in [json!({"status": "approved"}), json!({"status": "declined"}), json!({"status": "approved"})] {
        let stream = api.authenticate(&user.public_key(), &[]).await;
        let challenge = user.challenged(&relay, &challenges).await;
        let answer = user.answer(service, &challenge, &status);
        challenges.push(challenge);
        overheard.push(answer.clone());
        relay.inject(answer);
        assert_eq!(api.outcome(&stream).await.status(), status["status"].as_str().unwrap());
        streams.push(stream);
    }
    let mut before = Vec::new();
    for stream in streams.iter().chain([&reusable.stream]) {
        before.push(api.events(stream).await);
    }

    for round in ["at once", "after a crash"] {
        if round == "after a crash" {
            let reqs = relay.metrics().reqs;
            usher.restart().await;
            relay.wait_for(LONG, |metrics| metrics.reqs > reqs).await.expect("the service subscribes again");
        }
        // Somebody is being asked while old replies are replayed, in both orders.
        let asked = api.authenticate(&user.public_key(), &[]).await;
        let fresh = api.handshake(json!({})).await;
        let again: Vec<Event> = overheard.iter().rev().chain(&overheard).cloned().collect();
        again.into_iter().for_each(|event| relay.inject(event));
        relay.inject(HandmadeWallet::new().handshake(&single.url));
        caught_up(&api, &relay).await;
        for open in [&asked, &fresh.stream] {
            assert_eq!(api.events(open).await, (Vec::new(), false), "{round}");
        }
        for (stream, before) in streams.iter().chain([&reusable.stream]).zip(&before) {
            assert_eq!(&api.events(stream).await, before, "{round}");
        }
    }
}
