//! Relays that users choose.

use std::time::Duration;

use usher_engine::ports::Messenger as _;
use usher_protocol::{Keys, PublicKey};
use usher_relays::Origin;
use usher_testing::relay::{Flood, Junk, JunkEvents};

use crate::fixture::{DEADLINE, Plan, Service, Wallet, address, now, relay, until};
use crate::wallet::approval;

fn user() -> PublicKey {
    Keys::generate().public_key()
}

fn open(service: &Service) -> Vec<String> {
    let all = service.pool.status().into_iter();
    all.filter(|status| status.origin == Origin::User).map(|status| status.url.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_is_reached_at_their_own_relay_which_is_closed_afterwards() {
    let (ours, theirs) = (relay().await, relay().await);
    let grace = Duration::from_millis(100);
    let mut service = Service::start_with(&[ours.url()], |options| options.user_relay_grace = grace).await;
    let wallet = Wallet::connect(theirs.url()).await;
    let mut message = service.message(&wallet.key(), "theirs", &[theirs.url(), ours.url()]);
    service.pool.send(&message);
    assert_eq!(service.next_answer().await, "theirs");
    assert_eq!(open(&service), [theirs.url()], "ours is not opened a second time");
    assert_eq!(ours.metrics().connections, 1);
    assert_eq!(service.pool.relays(), [ours.url()], "handshake URLs name ours alone");

    message.until = now();
    service.pool.send(&message);
    assert_eq!(service.next_answer().await, "theirs");
    assert_eq!(open(&service), [theirs.url()], "another answer is awaited there for longer");

    let theirs = relay().await;
    let mut message = service.message(&user(), "x", &[theirs.url()]);
    message.until = now().plus(Duration::from_secs(1));
    service.pool.send(&message);
    theirs.wait_for(DEADLINE, |metrics| metrics.events_of(27_000) == 1).await.unwrap();
    theirs.wait_for(DEADLINE, |metrics| metrics.open_connections == 0).await.unwrap();
    until("forgotten", async || !open(&service).contains(&theirs.url().to_owned())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_of_users_are_never_connected_to() {
    let inside = relay().await;
    let service = Service::start_with(&[], |options| options.allow_private = false).await;
    for url in [inside.url(), &format!("ws://[::ffff:127.0.0.1]:{}", inside.port()), "wss://relay.example:22"] {
        service.ask_at(&user(), "x", &[url]);
    }
    assert!(open(&service).is_empty(), "{:?}", open(&service));
    assert_eq!(service.pool.metrics().user_relays_refused.get(), 3);

    // By name: known only when it has been resolved.
    let by_name = format!("ws://localhost:{}", inside.port());
    service.ask_at(&user(), "x", &[&by_name]);
    service.until("refused", &by_name, "not on the public Internet").await;
    assert_eq!(inside.metrics().connections, 0);
    // The operator may.
    let mut plan = Plan::new(&[&by_name]);
    plan.relays.allow_private = false;
    plan.serve().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_relay_that_becomes_a_service_relay_stays_connected() {
    let relay = relay().await;
    let mut service = Service::at(&[]).await;
    let wallet = Wallet::connect(relay.url()).await;
    service.ask_at(&wallet.key(), "before", &[relay.url()]);
    assert_eq!(service.next_answer().await, "before");
    assert!(service.pool.add(address(relay.url()), false));
    for number in 0..20 {
        let challenge = format!("c{number}");
        service.ask_at(&wallet.key(), &challenge, &[relay.url()]);
        assert_eq!(service.next_answer().await, challenge);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flooding_user_relay_is_closed_but_a_service_relay_is_not() {
    let (ours, theirs) = (relay().await, relay().await);
    let mut plan = Plan::new(&[ours.url()]);
    plan.relays.limits.user_relay_useless = 100;
    plan.relays.limits.user_relay_useless_per_second = 1;
    let service = plan.serve().await;
    service.ask_at(&user(), "x", &[theirs.url()]);
    service.subscribed_at(theirs.url()).await;
    let events = JunkEvents::generate(service.key(), &[27_001], &[Junk::GarbageContent], 500);
    let flood = Flood { per_second: 1000, events };
    theirs.set(|quirks| quirks.flood = Some(flood.clone()));
    service.until("left", theirs.url(), "floods us").await;
    ours.set(|quirks| quirks.flood = Some(flood));
    until("much junk", async || service.pool.metrics().received.get() > 500).await;
    assert!(service.status_of(ours.url()).state.is_connected());
    assert_eq!(ours.metrics().connections, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_size_limit_is_smaller_for_user_relays() {
    let theirs = relay().await;
    let service = Service::at(&[]).await;
    service.ask_at(&user(), "x", &[theirs.url()]);
    service.subscribed_at(theirs.url()).await;
    let mut huge = approval(&Keys::generate(), &service.key(), "huge");
    huge.content = "A".repeat(1_000_000);
    theirs.inject(huge);
    until("left", async || service.pool.metrics().disconnects.get() == 1).await;
}
