//! Relays that flood and lie, while users log in.

use usher_protocol::{PublicKey, kind};
use usher_testing::relay::{Flood, Junk, JunkEvents, Quirks, QuirkyRelay};

use crate::harness::{LONG, TestUsher, User, run_logins};

const ALL: [Junk; 5] =
    [Junk::GarbageContent, Junk::GarbageText, Junk::UnknownChallenge, Junk::BadSignature, Junk::WrongId];

/// 10,000 events per second, of as many different ones.
async fn flood(at: PublicKey) -> Flood {
    let events = tokio::task::spawn_blocking(move || JunkEvents::generate(at, &kind::FROM_WALLET, &ALL, 10_000));
    Flood { per_second: 10_000, events: events.await.unwrap() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_junk_events_per_second() {
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let bad = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = TestUsher::builder().relays(&[bad.url(), good.url()]).start().await;
    for relay in [&good, &bad] {
        relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    }
    let api = usher.api();
    run_logins(&api, 5, User::Once).await;
    let before = usher.memory();
    let flood = flood(usher.public_key()).await;
    bad.set(|quirks| quirks.flood = Some(flood));
    for seconds in 1..=2 {
        bad.wait_for(LONG, |metrics| metrics.flooded > seconds * 10_000).await.expect("it floods");
        run_logins(&api, 10, User::Once).await;
    }
    assert!(usher.memory() < before + 150, "{before} MiB grew to {} MiB", usher.memory());
    // When it is over, the relay is as good as any.
    bad.set(|quirks| quirks.flood = None);
    good.set(|quirks| quirks.refuse_events = true);
    run_logins(&api, 5, User::Stubborn).await;
}
