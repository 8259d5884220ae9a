//! A bad relay and no other: what is sent and received, and what is not.

use std::collections::HashSet;
use std::time::Duration;

use nostr::Kind;
use usher_faults::relay::{LieOk, Quirks, QuirkyRelay};

use crate::fixture::{DEADLINE, Service, Wallet, approval, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_go_on_over_a_bad_relay_alone() {
    for quirks in [
        Quirks { no_ok_for_ephemeral: true, ..Quirks::default() },
        Quirks { duplicate_and_delay: Some(Duration::from_millis(100)), ..Quirks::default() },
        Quirks { lie_ok: Some(LieOk::RefuseAndForward), ..Quirks::default() },
    ] {
        let relay = QuirkyRelay::start(quirks).await.unwrap();
        let mut service = Service::start(&[relay.url()]);
        let wallet = Wallet::connect(&[relay.url()]).await;
        service.subscribed_at(relay.url()).await;
        for number in 0..3 {
            service.login(&wallet.key(), &format!("c{number}")).await;
        }
        wallet.stop().await;
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relay_that_requires_authentication_works() {
    let demanding = Quirks { require_auth: true, ..Quirks::default() };
    let relay = QuirkyRelay::start(demanding).await.unwrap();
    let mut service = Service::start(&[relay.url()]);
    // Queued before the relay knows us; sent after it does.
    let wallet = nostr::Keys::generate();
    let id = service.ask(&wallet.public_key(), "early");
    service.subscribed_at(relay.url()).await;
    relay.wait_for(DEADLINE, |metrics| metrics.auths_valid == 1).await.unwrap();
    eventually("the event taken", || {
        let metrics = relay.metrics();
        metrics.events_of(27_000) > metrics.events_refused
    })
    .await;
    assert!(relay.seen().iter().any(|event| event.id == id));
    relay.inject(approval(&wallet, &service.key(), "early"));
    assert_eq!(service.next_answer().await, "early");
    assert_eq!(service.status_of(relay.url()).refusal, None);
    assert_eq!(relay.metrics().auths, 1);
    assert!(!relay.seen().iter().any(|event| event.kind == Kind::Authentication));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_relay_is_reconnected() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let (port, url) = (relay.port(), relay.url().to_owned());
    let mut service = Service::start(&[&url]);
    service.subscribed_at(&url).await;
    relay.stop().await;
    eventually("noticed", || !service.status_of(&url).state.is_connected()).await;
    let relay = QuirkyRelay::start_on(port, Quirks::default()).await.unwrap();
    let wallet = Wallet::connect(&[relay.url()]).await;
    service.login(&wallet.key(), "again").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_continue_at_a_relay_that_keeps_disconnecting() {
    let relay =
        QuirkyRelay::start(Quirks { drop_every: Some(Duration::from_secs(1)), ..Quirks::default() }).await.unwrap();
    let mut service = Service::start(&[relay.url()]);
    service.subscribed_at(relay.url()).await;
    // Replies arrive while we are connected or not at all: requests are repeated, and one gets through in the end.
    let wallet = usher_protocol::Keys::generate();
    let mut heard = HashSet::new();
    while heard.len() < 5 {
        relay.inject(approval(&wallet, &service.key(), &format!("c{}", heard.len())));
        if let Ok(Some(inbound)) = tokio::time::timeout(Duration::from_millis(200), service.inbox.recv()).await {
            assert!(heard.insert(inbound.event_id));
            service.ask(&wallet.public_key(), "between");
        }
    }
    relay.wait_for(DEADLINE, |metrics| metrics.connections >= 4 && metrics.events_of(27_000) >= 5).await.unwrap();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_subscription_is_opened_again() {
    let closing = Quirks { close_subscriptions_after: Some(Duration::from_millis(100)), ..Quirks::default() };
    let relay = QuirkyRelay::start(closing).await.unwrap();
    let mut service = Service::start(&[relay.url()]);
    relay.wait_for(DEADLINE, |metrics| metrics.reqs >= 4).await.unwrap();
    assert_eq!(relay.metrics().connections, 1, "on the same connection");
    relay.set(|quirks| quirks.close_subscriptions_after = None);
    let wallet = Wallet::connect(&[relay.url()]).await;
    service.login(&wallet.key(), "open").await;
    assert_eq!(relay.metrics().most_subscriptions, 1, "and never a second one");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_service_sends_nothing() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let service = Service::start_with(&[relay.url()], |options| {
        options.connection.ping_after = Duration::from_millis(100);
    });
    service.subscribed_at(relay.url()).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let metrics = relay.metrics();
    assert_eq!((metrics.frames, metrics.reqs, metrics.connections), (1, 1, 1), "{metrics:?}");
    service.stop().await;
}
