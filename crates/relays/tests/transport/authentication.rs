//! Relays that require authentication.

use nostr::Kind;
use usher_faults::relay::{Quirks, QuirkyRelay};

use crate::fixture::{DEADLINE, Service, approval, eventually};

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
async fn authentication_is_signed_for_the_dialed_address() {
    // The relay knows itself by another name and refuses ours, as it should; we keep trying.
    let demanding = Quirks { require_auth: true, ..Quirks::default() };
    let relay = QuirkyRelay::start(demanding).await.unwrap();
    let proxy = usher_faults::proxy::BreakableProxy::start(relay.url().trim_start_matches("ws://")).await.unwrap();
    let url = proxy.ws_url();
    let service = Service::start(&[&url]);
    relay.wait_for(DEADLINE, |metrics| metrics.auths >= 1 && metrics.reqs >= 3).await.unwrap();
    assert_eq!(relay.metrics().auths_valid, 0);
    assert!(!service.status_of(&url).subscribed);
    eventually("shown", || service.status_of(&url).refusal.is_some()).await;
    service.stop().await;
}
