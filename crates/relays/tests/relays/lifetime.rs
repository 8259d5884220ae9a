//! Starting, stopping, adding and removing relays.

use usher_engine::ports::Messenger as _;
use usher_protocol::Keys;
use usher_testing::relay::Quirks;

use crate::fixture::{DEADLINE, Plan, Service, Wallet, address, quirky, relay, until};
use crate::wallet::approval;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_are_added_and_removed_without_a_gap() {
    let (first, second) = (relay().await, relay().await);
    let mut service = Service::at(&[first.url()]).await;
    assert_eq!(service.pool.relays(), [first.url()]);

    assert!(service.pool.add(address(second.url()), false));
    assert!(!service.pool.add(address(second.url()), false), "it is there");
    service.subscribed_at(second.url()).await;
    assert_eq!(service.pool.relays(), [first.url(), second.url()]);
    let wallet = Wallet::connect(second.url()).await;
    service.ask(&wallet.key(), "added");
    assert_eq!(service.next_answer().await, "added");

    // What is queued for a relay is still sent when it is removed at once, and what it delivered is not lost.
    let id = service.ask(&wallet.key(), "last");
    assert!(service.pool.remove(&address(first.url())));
    assert!(!service.pool.remove(&address(first.url())), "it is gone");
    first.wait_for(DEADLINE, |metrics| metrics.events_of(27_000) == 2 && metrics.open_connections == 0).await.unwrap();
    assert!(first.seen().iter().any(|event| event.id == id));
    assert_eq!(service.next_answer().await, "last");
    assert_eq!(service.pool.relays(), [second.url()]);
    assert_eq!(second.metrics().connections, 2, "the wallet's and ours: it was not touched");

    // And back again.
    assert!(service.pool.add(address(first.url()), false));
    service.subscribed_at(first.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn received_message_survives_the_removal_of_its_relay() {
    let relay = relay().await;
    let mut plan = Plan::new(&[relay.url()]);
    plan.inbox = 1;
    let mut service = plan.serve().await;
    let wallet = Keys::generate();
    relay.inject(approval(&wallet, &service.key(), "first"));
    relay.inject(approval(&wallet, &service.key(), "second"));
    until("both examined", async || service.pool.metrics().verified.get() == 2).await;
    service.pool.remove(&address(relay.url()));
    relay.wait_for(DEADLINE, |metrics| metrics.open_connections == 0).await.unwrap();
    assert_eq!([service.next_answer().await, service.next_answer().await], ["first", "second"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_sends_what_is_queued_and_ends_every_task() {
    let relay = relay().await;
    let hanging = quirky(Quirks { stop_reading: true, ..Quirks::default() }).await;
    let silent = quirky(Quirks { accept_tcp_only: true, ..Quirks::default() }).await;
    let service = Plan::new(&[relay.url(), hanging.url(), silent.url(), "ws://127.0.0.1:9"]).start().await;
    service.subscribed_at(relay.url()).await;
    let wallet = Keys::generate().public_key();
    for number in 0..100 {
        service.ask(&wallet, &format!("c{number}"));
    }
    service.stop().await;
    let metrics = relay.wait_for(DEADLINE, |metrics| metrics.open_connections == 0).await.unwrap();
    assert_eq!(metrics.events_of(27_000), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_are_closed_when_the_engine_has_ended() {
    let relay = relay().await;
    let mut service = Service::at(&[relay.url()]).await;
    service.inbox.close();
    relay.inject(approval(&Keys::generate(), &service.key(), "nobody"));
    relay.wait_for(DEADLINE, |metrics| metrics.open_connections == 0).await.unwrap();
    service.stop().await;
}
