//! Every message is handled exactly once, whatever the relays do.

use std::collections::HashSet;
use std::time::Duration;

use usher_engine::ports::Messenger as _;
use usher_faults::proxy::BreakableProxy;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;

use crate::fixture::{Service, Wallet, approval, eventually, quick, quick_connection};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn same_event_from_five_relays_is_one_message() {
    let mut relays = Vec::new();
    for _ in 0..5 {
        let late = Quirks { duplicate_and_delay: Some(Duration::from_millis(20)), ..Quirks::default() };
        relays.push(QuirkyRelay::start(late).await.unwrap());
    }
    let urls: Vec<_> = relays.iter().map(QuirkyRelay::url).collect();
    let mut service = Service::start(&urls);
    for url in &urls {
        service.subscribed_at(url).await;
    }
    let wallet = Keys::generate();
    let events: Vec<_> = (0..100).map(|n| approval(&wallet, &service.key(), &format!("c{n}"))).collect();
    for event in &events {
        for relay in &relays {
            relay.inject(event.clone());
        }
    }
    let mut seen = HashSet::new();
    for _ in &events {
        assert!(seen.insert(service.next().await.event_id));
    }
    // All ten copies of each have arrived and produced no further message.
    eventually("all copies received", || service.pool.metrics().received == 1000).await;
    assert!(service.inbox.try_recv().is_err());
    let counters = service.pool.metrics();
    assert_eq!((counters.delivered, counters.duplicates), (100, 900));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_copy_reaches_its_recipient_over_a_real_relay() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(&[relay.url()]);
    service.subscribed_at(relay.url()).await;
    let mut main = Wallet::connect(&[relay.url()]).await;
    let mut device = Wallet::connect(&[relay.url()]).await;
    let mut message = service.message(&main.key(), "both");
    message.recipients.push(device.key());
    message.participants.push(device.key());
    let ids = service.pool.send(&message);
    assert_eq!(ids.len(), 2);
    assert_eq!(service.pool.send(&message), ids, "sent again it is the same event");
    for (wallet, id) in [(&mut main, ids[0]), (&mut device, ids[1])] {
        let (event, text) = wallet.next().await;
        assert_eq!((event.id, text.as_str()), (id, message.content.as_str()));
        let tagged: Vec<_> = event.tags.public_keys().copied().collect();
        assert_eq!(tagged, message.participants);
    }
    assert_eq!(service.next_answer().await, "both");
    assert_eq!(service.next_answer().await, "both");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_continues_after_a_broken_connection() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let proxy = BreakableProxy::start(relay.url().trim_start_matches("ws://")).await.unwrap();
    let url = proxy.ws_url();
    let mut service = Service::start(&[&url]);
    let wallet = Wallet::connect(&[relay.url()]).await;
    service.subscribed_at(&url).await;
    for round in 0..2 {
        proxy.cut();
        eventually("noticed", || !service.status_of(&url).state.is_connected()).await;
        // Sent while the relay is away: delivered when the connection is back, without being sent again.
        service.ask(&wallet.key(), &format!("round{round}"));
        proxy.restore();
        assert_eq!(service.next_answer().await, format!("round{round}"));
    }
    assert!(relay.metrics().reqs >= 3);
    wallet.stop().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connection_is_detected() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let proxy = BreakableProxy::start(relay.url().trim_start_matches("ws://")).await.unwrap();
    let url = proxy.ws_url();
    let service = Service::start_with(&[&url], |options| {
        options.connection.ping_after = Duration::from_millis(200);
        // As long as a machine may be busy with something else.
        options.connection.pong_within = Duration::from_secs(3);
    });
    service.subscribed_at(&url).await;
    // A quiet relay that responds to pings stays connected.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(service.pool.metrics().disconnects, 0, "{:?}", service.pool.status());
    proxy.swallow();
    eventually("noticed", || service.pool.metrics().disconnects > 0).await;
    proxy.restore();
    service.subscribed_at(&url).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relay_that_stops_reading_is_disconnected() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let service = Service::start_with(&[relay.url()], |options| {
        options.connection.write_within = Duration::from_millis(300);
    });
    service.subscribed_at(relay.url()).await;
    relay.set(|quirks| quirks.stop_reading = true);
    let wallet = Keys::generate().public_key();
    let mut message = service.message(&wallet, "x");
    message.content = format!("\"{}\"", "x".repeat(30_000));
    // 8 MB: more than the socket's buffers hold. The queue is bounded, and sending never waits.
    for _ in 0..200 {
        service.pool.send(&message);
    }
    assert!(service.status_of(relay.url()).queued * 40_000 <= 8 * 1024 * 1024);
    eventually("left", || service.pool.metrics().disconnects > 0).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_engine_loses_nothing() {
    let relays =
        [QuirkyRelay::start(Quirks::default()).await.unwrap(), QuirkyRelay::start(Quirks::default()).await.unwrap()];
    let keys = Keys::generate();
    let addresses = relays.iter().map(|relay| crate::fixture::address(relay.url())).collect();
    let mut options = usher_relays::RelayOptions::new(usher_relays::Identity::of_main_key(keys.clone()), addresses);
    options.timing = quick();
    options.connection = quick_connection();
    let mut service = Service::start_from(options, keys, 1);
    for relay in &relays {
        service.subscribed_at(relay.url()).await;
    }
    let wallet = Keys::generate();
    for number in 0..500 {
        let event = approval(&wallet, &service.key(), &format!("c{number}"));
        relays[number % 2].inject(event.clone());
        relays[(number + 1) % 2].inject(event);
    }
    let mut seen = HashSet::new();
    while seen.len() < 500 {
        if seen.len() % 50 == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(seen.insert(service.next().await.event_id));
    }
    assert_eq!(service.pool.metrics().disconnects, 0);
    service.stop().await;
}
