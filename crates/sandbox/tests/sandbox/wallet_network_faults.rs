//! The wallet with faulty relays and connections.

use std::time::Duration;

use usher_faults::proxy::BreakableProxy;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::{Keys, kind};
use usher_sandbox::wallet::{DeliveryStatus, Identity, Policy, Wallet, WalletOptions};

use crate::raw_client::{LONG, QUIET};
use crate::scripted_service::{Service, is_approved};

async fn wallet() -> Wallet {
    Wallet::start(WalletOptions::new(Identity::generate()).policy(Policy::auto_approve())).await
}

/// A login by a relay with these quirks; the service repeats itself, as services do.
async fn log_in(relay: &QuirkyRelay, service: &mut Service, wallet: &Wallet, challenge: &str) {
    for _ in 0..60 {
        service.challenge(&wallet.public_key(), challenge).await;
        if let Ok((_, response)) = tokio::time::timeout(Duration::from_millis(500), service.next_response()).await {
            assert!(is_approved(&response));
            return;
        }
    }
    panic!("no answer: {:?}", relay.metrics());
}

#[tokio::test]
async fn wallet_authenticates_when_required() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(relay.url()).await;
    relay.set(|quirks| quirks.require_auth = true);
    let wallet = wallet().await;
    let opened = wallet.open(&service.url(), LONG).await.unwrap();
    relay.wait_for(LONG, |c| c.auths_valid == 1 && c.open_subscriptions == 2).await.unwrap();
    // The service is not authenticated: it may send and receive again.
    relay.set(|quirks| quirks.require_auth = false);
    assert_eq!(service.next_handshake().await.0.id, opened.event.id);
    log_in(&relay, &mut service, &wallet, "c").await;
}

#[tokio::test]
async fn closed_subscription_is_renewed() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = wallet().await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let reqs = relay.metrics().reqs;
    relay.set(|quirks| quirks.close_subscriptions_after = Some(Duration::from_millis(100)));
    relay.wait_for(LONG, |c| c.open_subscriptions == 0).await.unwrap();
    relay.set(|quirks| quirks.close_subscriptions_after = None);
    relay.wait_for(LONG, |c| c.reqs > reqs && c.open_subscriptions == 1).await.unwrap();
    let mut service = Service::with_keys(service.keys, relay.url(), &[]).await;
    log_in(&relay, &mut service, &wallet, "c").await;
}

#[tokio::test]
async fn wallet_reconnects_after_every_disconnect() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let proxy = BreakableProxy::start(relay.url().strip_prefix("ws://").unwrap()).await.unwrap();
    let mut service = Service::with_keys(Keys::generate(), relay.url(), &[&proxy.ws_url()]).await;
    let wallet = wallet().await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    for round in 0..4 {
        proxy.cut();
        relay.wait_for(LONG, |c| c.open_connections == 1).await.unwrap();
        proxy.restore();
        relay.wait_for(LONG, |c| c.open_subscriptions == 2).await.unwrap();
        log_in(&relay, &mut service, &wallet, &format!("c{round}")).await;
    }
}

#[tokio::test]
async fn reply_given_while_disconnected_is_sent_later() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let proxy = BreakableProxy::start(relay.url().strip_prefix("ws://").unwrap()).await.unwrap();
    let mut service = Service::with_keys(Keys::generate(), relay.url(), &[&proxy.ws_url()]).await;
    let wallet = wallet().await;
    wallet.set_policy(Policy::silent());
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    service.challenge(&wallet.public_key(), "c").await;
    let request = wallet.next_request(LONG).await.unwrap();
    proxy.cut();
    relay.wait_for(LONG, |c| c.open_connections == 1).await.unwrap();
    wallet.approve(&request).unwrap();
    assert_eq!(wallet.flush(QUIET).await, DeliveryStatus::Unconfirmed);
    proxy.restore();
    assert!(is_approved(&service.next_response().await.1));
    assert_eq!(wallet.flush(LONG).await, DeliveryStatus::Accepted);
}

#[tokio::test]
async fn one_good_relay_beside_bad_ones_is_enough() {
    let bad = [
        Quirks { accept_tcp_only: true, ..Quirks::default() },
        Quirks { mute: true, ..Quirks::default() },
        Quirks { refuse_events: true, ..Quirks::default() },
        Quirks { garbage: Some(Duration::from_millis(5)), ..Quirks::default() },
    ];
    let good = QuirkyRelay::start(Quirks { no_ok_for_ephemeral: true, ..Quirks::default() }).await.unwrap();
    let mut relays = Vec::new();
    for quirks in bad {
        relays.push(QuirkyRelay::start(quirks).await.unwrap());
    }
    let mut urls: Vec<&str> = relays.iter().map(QuirkyRelay::url).collect();
    urls.push(good.url());
    let mut service = Service::with_keys(Keys::generate(), good.url(), &urls).await;
    let wallet = wallet().await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    for n in 0..5 {
        log_in(&good, &mut service, &wallet, &format!("c{n}")).await;
    }
    // An idle wallet has one subscription and says nothing.
    let before = good.metrics();
    assert_eq!((before.open_connections, before.open_subscriptions), (2, 2));
    tokio::time::sleep(QUIET).await;
    assert_eq!(good.metrics().frames, before.frames);
    assert_eq!(before.events_of(kind::KEY_HANDSHAKE), 1);
}
