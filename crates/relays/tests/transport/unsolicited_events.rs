//! Unsolicited events of unauthenticated peers.

use std::time::Duration;

use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::Keys;
use usher_relays::Refusal;

use crate::fixture::{DEADLINE, Service, approval, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn huge_content_is_refused_without_disconnecting() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(&[relay.url()]);
    service.subscribed_at(relay.url()).await;
    let wallet = Keys::generate();
    for size in [100_000, 1_000_000, 3_000_000] {
        let mut huge = approval(&wallet, &service.key(), "huge");
        huge.content = "A".repeat(size);
        relay.inject(huge);
    }
    let fine = approval(&wallet, &service.key(), "fine");
    relay.inject(fine);
    assert_eq!(service.next_answer().await, "fine");
    let counters = service.pool.metrics();
    assert_eq!((counters.refused_for(Refusal::TooLong), counters.disconnects), (3, 0));

    // Above what is buffered at all, the connection ends and is renewed.
    let mut monster = approval(&wallet, &service.key(), "monster");
    monster.content = "A".repeat(5_000_000);
    relay.inject(monster);
    eventually("cut", || service.pool.metrics().disconnects == 1).await;
    relay.wait_for(DEADLINE, |metrics| metrics.reqs == 2).await.unwrap();
    let after = approval(&wallet, &service.key(), "after");
    eventually("subscribed again", || service.status_of(relay.url()).subscribed).await;
    relay.inject(after);
    assert_eq!(service.next_answer().await, "after");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_of_unreachable_relays_are_bounded_and_expire() {
    let service = Service::start_with(&["ws://127.0.0.1:9"], |options| {
        options.limits.queue_events = 100;
        options.timing.fresh_for = Duration::from_secs(2);
    });
    let wallet = Keys::generate().public_key();
    for number in 0..1000 {
        service.ask(&wallet, &format!("c{number}"));
    }
    assert!(service.pool.status()[0].queued <= 100);
    assert!(service.pool.metrics().dropped >= 900);
    eventually("forgotten", || service.pool.status()[0].queued == 0).await;
    assert_eq!(service.pool.metrics().dropped, 1000);
    service.stop().await;
}
