//! A bad relay and no other: what is sent and received, and what is not.

use std::collections::HashSet;
use std::time::Duration;

use nostr::Kind;
use usher_protocol::Keys;
use usher_testing::relay::{LieOk, Quirks};

use crate::fixture::{DEADLINE, Plan, Service, Wallet, quirky};
use crate::wallet::approval;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_go_on_over_a_bad_relay_alone() {
    for quirks in [
        Quirks { no_ok_for_ephemeral: true, ..Quirks::default() },
        Quirks { duplicate_and_delay: Some(Duration::from_millis(100)), ..Quirks::default() },
        Quirks { lie_ok: Some(LieOk::RefuseAndForward), ..Quirks::default() },
    ] {
        let relay = quirky(quirks).await;
        let mut service = Service::at(&[relay.url()]).await;
        let wallet = Wallet::connect(relay.url()).await;
        for number in 0..3 {
            service.login(&wallet.key(), &format!("c{number}")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relay_that_requires_authentication_works() {
    let relay = quirky(Quirks { require_auth: true, ..Quirks::default() }).await;
    let mut service = Plan::new(&[relay.url()]).start().await;
    // Queued before the relay knows us; sent after it does.
    let wallet = Keys::generate();
    let id = service.ask(&wallet.public_key(), "early");
    service.subscribed_at(relay.url()).await;
    relay.wait_for(DEADLINE, |metrics| metrics.auths_valid == 1).await.unwrap();
    relay.wait_for(DEADLINE, |metrics| metrics.events_of(27_000) > metrics.events_refused).await.unwrap();
    assert!(relay.seen().iter().any(|event| event.id == id));
    relay.inject(approval(&wallet, &service.key(), "early"));
    assert_eq!(service.next_answer().await, "early");
    assert_eq!(service.status_of(relay.url()).refusal, None);
    assert_eq!(relay.metrics().auths, 1);
    assert!(!relay.seen().iter().any(|event| event.kind == Kind::Authentication));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_continue_at_a_relay_that_keeps_disconnecting() {
    let relay = quirky(Quirks { drop_every: Some(Duration::from_secs(1)), ..Quirks::default() }).await;
    let mut service = Service::at(&[relay.url()]).await;
    // Replies arrive while we are connected or not at all: requests are repeated, and one gets through in the end.
    let wallet = Keys::generate();
    let mut heard = HashSet::new();
    while heard.len() < 5 {
        relay.inject(approval(&wallet, &service.key(), &format!("c{}", heard.len())));
        if let Ok(Some(inbound)) = tokio::time::timeout(Duration::from_millis(200), service.inbox.recv()).await {
            assert!(heard.insert(inbound.event_id));
            service.ask(&wallet.public_key(), "between");
        }
    }
    relay.wait_for(DEADLINE, |metrics| metrics.connections >= 4 && metrics.events_of(27_000) >= 5).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_subscription_is_opened_again() {
    let close_subscriptions_after = Some(Duration::from_millis(100));
    let relay = quirky(Quirks { close_subscriptions_after, ..Quirks::default() }).await;
    let mut service = Plan::new(&[relay.url()]).start().await;
    relay.wait_for(DEADLINE, |metrics| metrics.reqs >= 4).await.unwrap();
    assert_eq!(relay.metrics().connections, 1, "on the same connection");
    relay.set(|quirks| quirks.close_subscriptions_after = None);
    let wallet = Wallet::connect(relay.url()).await;
    service.login(&wallet.key(), "open").await;
    assert_eq!(relay.metrics().most_subscriptions, 1, "and never a second one");
}
