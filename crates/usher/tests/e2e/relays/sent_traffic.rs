//! What the service sends to relays: each event once, one relay subscription, and nothing while idle.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use usher_faults::relay::{Quirks, QuirkyRelay, RelayMetrics};
use usher_protocol::kind;
use usher_sandbox::wallet::Policy;

use crate::harness::{HandmadeWallet, LONG, TestUsher, User, introduce, wallet_for};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_event_from_five_relays_is_one() {
    let relays: Vec<_> =
        join_all((0..5).map(|_| QuirkyRelay::start(Quirks::default()))).await.into_iter().map(Result::unwrap).collect();
    let urls: Vec<_> = relays.iter().map(QuirkyRelay::url).collect();
    let mut usher = TestUsher::builder().relays(&urls).start().await;
    let subscribed =
        || join_all(relays.iter().map(|relay| relay.wait_for(LONG, |metrics| metrics.open_subscriptions > 0)));
    subscribed().await;
    let api = usher.api();

    let reusable = api.handshake(json!({"static_token": "door"})).await;
    let wallet = wallet_for(Policy::auto_approve()).await;
    introduce(&api, &wallet, &reusable, User::Once).await;
    let said = wallet.sent_events();
    assert_eq!(said.len(), 1, "it was said once: {said:?}");
    for relay in &relays {
        let key_handshakes = |metrics: &RelayMetrics| metrics.events_of(kind::KEY_HANDSHAKE) == 1;
        relay.wait_for(LONG, key_handshakes).await.expect("at each relay");
    }
    let stream = api.authenticate(&wallet.main_key(), &[]).await;
    api.outcome(&stream).await;
    // After what each relay has sent before, a user of its own.
    let mark = || {
        let marks: Vec<_> = relays.iter().map(|_| HandmadeWallet::new().handshake(&reusable.url)).collect();
        relays.iter().zip(&marks).for_each(|(relay, mark)| relay.inject(mark.clone()));
    };
    mark();
    assert_eq!(api.at_least(&reusable.stream, 6).await.len(), 6);
    assert_eq!(api.events(&stream).await.0.len(), 1);

    // Other users' events, each from all five at once, and all of them again after a crash.
    let puppets: Vec<_> = (0..20).map(|_| HandmadeWallet::new().handshake(&reusable.url)).collect();
    let tell = || {
        for event in puppets.iter().chain(&said) {
            relays.iter().for_each(|relay| relay.inject(event.clone()));
        }
    };
    tell();
    let events = api.at_least(&reusable.stream, 26).await;
    usher.kill();
    relays[0].wait_for(LONG, |metrics| metrics.open_subscriptions <= 1).await.expect("the wallet's alone");
    usher.restart().await;
    join_all(relays.iter().map(|relay| relay.wait_for(LONG, |metrics| metrics.open_subscriptions > 1))).await;
    tell();
    let fresh = HandmadeWallet::new().handshake(&reusable.url);
    relays.iter().for_each(|relay| relay.inject(fresh.clone()));
    mark();
    let after = api.at_least(&reusable.stream, 32).await;
    assert_eq!(after[..26], events, "what was read is as it was");
    let fresh_events = after[26..].iter().filter(|event| event.main_key() == fresh.pubkey.to_hex());
    assert_eq!((fresh_events.count(), after.len()), (1, 32));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_service_is_silent_however_many_operations_are_open() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let other = QuirkyRelay::start(Quirks { no_ok_for_ephemeral: true, ..Quirks::default() }).await.unwrap();
    let mut usher = TestUsher::builder().relays(&[relay.url(), other.url()]).start().await;
    for again in [false, true] {
        if again {
            // The same with all of them found in the store.
            usher.kill();
            relay.wait_for(LONG, |metrics| metrics.open_connections == 0).await.expect("gone");
            other.wait_for(LONG, |metrics| metrics.open_connections == 0).await.expect("gone");
            usher.restart().await;
        } else {
            let api = usher.api();
            join_all((0..200).map(|_| api.handshake(json!({})))).await;
        }
        for relay in [&relay, &other] {
            relay.wait_for(LONG, |metrics| metrics.open_subscriptions == 1).await.expect("the one subscription");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let before = [relay.metrics(), other.metrics()];
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!([relay.metrics(), other.metrics()], before, "an idle service sends nothing");
        for metrics in &before {
            assert_eq!((metrics.open_connections, metrics.open_subscriptions), (1, 1));
            assert_eq!((metrics.most_subscriptions, metrics.all_events()), (1, 0));
            assert_eq!(metrics.reqs, if again { 2 } else { 1 });
        }
    }
}
