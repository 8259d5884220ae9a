//! Unsolicited events of unauthenticated peers.

use std::time::Duration;

use nostr::JsonUtil as _;
use usher_faults::relay::{Flood, Junk, JunkEvents, Quirks, QuirkyRelay};
use usher_protocol::{Keys, kind};
use usher_relays::Refusal;

use crate::fixture::{DEADLINE, Service, approval, eventually, seal};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgeries_are_refused_and_do_not_block_the_genuine_event() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(&[relay.url()]);
    service.subscribed_at(relay.url()).await;
    let wallet = Keys::generate();
    let genuine = approval(&wallet, &service.key(), "genuine");
    let other = approval(&wallet, &service.key(), "other");
    let mut wrong_signature = genuine.clone();
    wrong_signature.sig = other.sig;
    let mut wrong_id = other.clone();
    wrong_id.id = genuine.id;
    let mut wrong_author = genuine.clone();
    wrong_author.pubkey = Keys::generate().public_key();
    for forged in [wrong_signature, wrong_id, wrong_author] {
        for _ in 0..3 {
            relay.inject(forged.clone());
        }
    }
    relay.inject(genuine.clone());
    assert_eq!(service.next().await.event_id, genuine.id);
    relay.inject(other.clone());
    assert_eq!(service.next().await.event_id, other.id);
    assert_eq!(service.pool.metrics().refused_for(Refusal::Forged), 9);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_from_the_past_and_the_future_are_refused() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start_with(&[relay.url()], |options| {
        options.created_at_tolerance = Duration::from_secs(100);
    });
    service.subscribed_at(relay.url()).await;
    let wallet = Keys::generate();
    let conversation = usher_protocol::envelope::conversation_key(&wallet, &service.key()).unwrap();
    let at = |created_at: u64| {
        let text = r#"{"token":"abcd"}"#;
        let to = &[service.key()];
        usher_protocol::envelope::seal(&wallet, &conversation, to, None, kind::KEY_HANDSHAKE, text, created_at).unwrap()
    };
    let now = crate::fixture::now().secs();
    relay.inject(at(now - 1000));
    relay.inject(at(now + 1000));
    let fine = at(now - 50);
    relay.inject(fine.clone());
    assert_eq!(service.next().await.event_id, fine.id);
    // The relay's own filter may hold back the old one already.
    assert!(service.pool.metrics().refused_for(Refusal::OutOfTime) >= 1);
    service.stop().await;
}

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
async fn contents_that_decrypt_to_invalid_messages_are_refused() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(&[relay.url()]);
    service.subscribed_at(relay.url()).await;
    let wallet = Keys::generate();
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let deep_object = format!("{}1{}", r#"{"challenge":"#.repeat(4000), "}".repeat(4000));
    for text in ["x", "{}", "null", "[]", r#"{"challenge":5}"#, &deep, &deep_object] {
        relay.inject(seal(&wallet, &service.key(), &service.key(), kind::AUTH_RESPONSE, text));
    }
    relay.inject(approval(&wallet, &service.key(), "fine"));
    assert_eq!(service.next_answer().await, "fine");
    assert_eq!(service.pool.metrics().refused_for(Refusal::NotUnderstood), 7);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_at_one_relay_does_not_delay_another() {
    let flooding = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let quiet = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(&[flooding.url(), quiet.url()]);
    service.subscribed_at(flooding.url()).await;
    service.subscribed_at(quiet.url()).await;
    let junk = JunkEvents::generate(service.key(), &[kind::AUTH_RESPONSE], &[Junk::BadSignature], 3000);
    flooding.set(|quirks| quirks.flood = Some(Flood { per_second: 10_000, events: junk }));
    flooding.wait_for(DEADLINE, |metrics| metrics.flooded > 1000).await.unwrap();
    let wallet = Keys::generate();
    for number in 0..50 {
        let event = approval(&wallet, &service.key(), &format!("c{number}"));
        quiet.inject(event.clone());
        assert_eq!(service.next().await.event_id, event.id);
    }
    assert!(service.pool.metrics().refused_for(Refusal::Forged) > 100);
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

#[tokio::test]
async fn flood_events_pass_cheap_checks() {
    // The flood's events pass every cheap check, or the tests above would show little.
    let key = Keys::generate().public_key();
    for event in JunkEvents::generate(key, &[kind::AUTH_RESPONSE], &[Junk::BadSignature], 3).iter() {
        assert!(event.verify().is_err());
        assert!(event.as_json().contains(&key.to_hex()));
    }
}
