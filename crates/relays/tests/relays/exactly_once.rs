//! Every message is handled exactly once, whatever the relays do.

use std::collections::HashSet;
use std::time::Duration;

use usher_engine::ports::Messenger as _;
use usher_protocol::{Keys, kind};
use usher_relays::Refusal;
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::relay::{Quirks, QuirkyRelay};

use crate::fixture::{DEADLINE, Plan, Service, Wallet, now, proxied, quirky, relay, until};
use crate::wallet::{approval, handshake, store};

/// Also by an engine that is slow to read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn same_event_from_five_relays_is_one_message() {
    let mut relays = Vec::new();
    for _ in 0..5 {
        let duplicate_and_delay = Some(Duration::from_millis(20));
        relays.push(quirky(Quirks { duplicate_and_delay, ..Quirks::default() }).await);
    }
    let mut plan = Plan::new(&relays.iter().map(QuirkyRelay::url).collect::<Vec<_>>());
    plan.inbox = 1;
    let mut service = plan.serve().await;
    let wallet = Keys::generate();
    for number in 0..100 {
        let event = approval(&wallet, &service.key(), &format!("c{number}"));
        relays.iter().for_each(|relay| relay.inject(event.clone()));
    }
    let mut seen = HashSet::new();
    for _ in 0..100 {
        assert!(seen.insert(service.next().await.event_id));
    }
    // All ten copies of each have arrived and produced no further message.
    until("all copies received", async || service.pool.metrics().received.get() == 1000).await;
    assert!(service.inbox.try_recv().is_err());
    let counters = service.pool.metrics();
    assert_eq!((counters.delivered.get(), counters.duplicates.get(), counters.disconnects.get()), (100, 900, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_copy_reaches_its_recipient_over_a_real_relay() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::at(&[relay.url()]).await;
    let (mut main, mut device) = (Wallet::connect(relay.url()).await, Wallet::connect(relay.url()).await);
    let mut message = service.message(&main.key(), "both", &[]);
    message.recipients.push(device.key());
    message.participants.push(device.key());
    let ids = service.pool.send(&message);
    assert_eq!(ids.len(), 2);
    assert_eq!(service.pool.send(&message), ids, "sent again it is the same event");
    for (wallet, id) in [(&mut main, ids[0]), (&mut device, ids[1])] {
        let (event, text) = wallet.next().await;
        assert_eq!((event.id, text.as_str()), (id, message.content.as_str()));
        assert_eq!(event.tags.public_keys().copied().collect::<Vec<_>>(), message.participants);
    }
    assert_eq!([service.next_answer().await, service.next_answer().await], ["both", "both"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_continues_after_a_broken_connection() {
    let relay = relay().await;
    let (proxy, url) = proxied(&relay).await;
    let mut service = Service::at(&[&url]).await;
    let wallet = Wallet::connect(relay.url()).await;
    for round in ["first", "second"] {
        proxy.cut();
        service.disconnected_from(&url).await;
        // Sent while the relay is away: delivered when the connection is back, without being sent again.
        service.ask(&wallet.key(), round);
        proxy.restore();
        assert_eq!(service.next_answer().await, round);
    }
    assert!(relay.metrics().reqs >= 3);
}

/// Wallets send a message once, also while a connection is being renewed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relay_that_stores_ephemeral_events_delivers_missed_ones() {
    let relay = quirky(Quirks { keeps_ephemeral: Some(Duration::from_secs(300)), ..Quirks::default() }).await;
    let (proxy, url) = proxied(&relay).await;
    let mut service = Service::at(&[&url]).await;
    let hello = |wrong| {
        let at = now().secs().saturating_add_signed(wrong);
        handshake(&Keys::generate(), &service.keys.public_key(), &service.keys.public_key(), at)
    };
    let before = hello(0);
    // Wallets whose clocks are right, slow, and fast, by as much as is accepted minus the time that this takes.
    let later = [hello(0), hello(-14 * 60), hello(14 * 60)];
    store(relay.url(), &[&before]).await;
    assert_eq!(service.next().await.event_id, before.id);
    proxy.cut();
    service.disconnected_from(&url).await;
    store(relay.url(), &later.each_ref()).await;
    proxy.restore();
    let mut missed: HashSet<_> = later.iter().map(|event| event.id).collect();
    for _ in 0..3 {
        assert!(missed.remove(&service.next().await.event_id));
    }
    assert_eq!(relay.metrics().events_of(kind::KEY_HANDSHAKE), 4);

    // Each further connection gets all of it again; it is known by now.
    for round in 1..=3 {
        let received = service.pool.metrics().received.get();
        proxy.cut();
        service.disconnected_from(&url).await;
        proxy.restore();
        until("all of it again", async || service.pool.metrics().received.get() >= received + 4).await;
        assert_eq!(service.pool.metrics().delivered.get(), 4, "round {round}");
    }
    assert!(service.inbox.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connection_is_detected() {
    let relay = relay().await;
    let (proxy, url) = proxied(&relay).await;
    let mut plan = Plan::new(&[&url]);
    plan.relays.connection.ping_after = Duration::from_millis(200);
    // As long as a machine may be busy with something else.
    plan.relays.connection.pong_within = Duration::from_secs(3);
    let service = plan.serve().await;
    // A quiet relay that responds to pings stays connected.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(service.pool.metrics().disconnects.get(), 0, "{:?}", service.pool.status());
    proxy.swallow();
    until("noticed", async || service.pool.metrics().disconnects.get() > 0).await;
    proxy.restore();
    service.subscribed_at(&url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relay_that_stops_reading_is_disconnected() {
    let relay = relay().await;
    let mut plan = Plan::new(&[relay.url()]);
    plan.relays.connection.write_within = Duration::from_millis(300);
    let service = plan.serve().await;
    relay.set(|quirks| quirks.stop_reading = true);
    let mut message = service.message(&Keys::generate().public_key(), "x", &[]);
    message.content = format!("\"{}\"", "x".repeat(30_000));
    // 8 MB: more than the socket's buffers hold. The queue is bounded, and sending never waits.
    for _ in 0..200 {
        service.pool.send(&message);
    }
    assert!(service.status_of(relay.url()).queued * 40_000 <= 8 * 1024 * 1024);
    until("left", async || service.pool.metrics().disconnects.get() > 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn huge_content_is_refused_without_disconnecting() {
    let relay = relay().await;
    let mut service = Service::at(&[relay.url()]).await;
    let (wallet, key) = (Keys::generate(), service.key());
    let inject = |content: usize| {
        let mut event = approval(&wallet, &key, "huge");
        event.content = "A".repeat(content);
        relay.inject(event);
    };
    [100_000, 1_000_000, 3_000_000].into_iter().for_each(inject);
    relay.inject(approval(&wallet, &key, "fine"));
    assert_eq!(service.next_answer().await, "fine");
    let counters = service.pool.metrics();
    assert_eq!((counters.refused_for(Refusal::TooLong), counters.disconnects.get()), (3, 0));

    // Above what is buffered at all, the connection ends and is renewed.
    inject(5_000_000);
    until("cut", async || service.pool.metrics().disconnects.get() == 1).await;
    relay.wait_for(DEADLINE, |metrics| metrics.reqs == 2).await.unwrap();
    service.subscribed_at(relay.url()).await;
    relay.inject(approval(&wallet, &key, "after"));
    assert_eq!(service.next_answer().await, "after");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_of_unreachable_relays_are_bounded_and_expire() {
    let service = Service::start_with(&["ws://127.0.0.1:9"], |options| {
        options.limits.queue_events = 100;
        options.timing.fresh_for = Duration::from_secs(2);
    })
    .await;
    let wallet = Keys::generate().public_key();
    for number in 0..1000 {
        service.ask(&wallet, &format!("c{number}"));
    }
    assert!(service.pool.status()[0].queued <= 100);
    assert!(service.pool.metrics().dropped.get() >= 900);
    until("forgotten", async || service.pool.status()[0].queued == 0).await;
    assert_eq!(service.pool.metrics().dropped.get(), 1000);
}
