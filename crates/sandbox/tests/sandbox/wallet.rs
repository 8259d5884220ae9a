//! The wallet of an honest user.

use std::time::Duration;

use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::message::{AuthStatus, CashuDirect, ServiceMessage};
use usher_protocol::{Keys, kind};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{
    DeliveryStatus, Identity, NoRequest, Policy, RequestContent, TicketsError, Wallet, WalletError, WalletOptions,
};

use crate::raw_client::{LONG, QUIET};
use crate::scripted_service::{Service, challenge_with, is_approved};

async fn wallet(policy: Policy) -> Wallet {
    Wallet::start(WalletOptions::new(Identity::generate()).policy(policy)).await
}

#[tokio::test]
async fn user_logs_in() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = wallet(Policy::silent()).await;

    let opened = wallet.open(&service.url(), LONG).await.unwrap();
    assert!(!opened.no_request);
    let (event, handshake) = service.next_handshake().await;
    assert_eq!((event.pubkey, event.id), (wallet.public_key(), opened.event.id));
    assert_eq!(handshake.token, "the token");
    assert_eq!(handshake.preferred_relays, [relay.url()]);
    assert!(!handshake.client_info.unwrap().name.is_empty());

    service.challenge(&wallet.public_key(), "c1").await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert_eq!((request.id.as_str(), request.from, request.service), ("c1", service.key(), Some(service.key())));
    assert!(matches!(&request.content, RequestContent::Authentication(challenge) if challenge.challenge == "c1"));
    assert!(request.content.expires_at().is_some());
    wallet.approve(&request).unwrap();
    let (event, response) = service.next_response().await;
    assert_eq!(event.pubkey, wallet.public_key());
    assert_eq!((response.challenge.as_str(), response.subkey_proof), ("c1", None));
    let AuthStatus::Approved { granted_permissions, .. } = response.status else { panic!() };
    assert_eq!(granted_permissions, ["profile"]);
    assert_eq!(wallet.flush(LONG).await, DeliveryStatus::Accepted);

    service.challenge(&wallet.public_key(), "c2").await;
    let request = wallet.next_request(LONG).await.unwrap();
    wallet.decline(&request, Some("not now")).unwrap();
    let (_, response) = service.next_response().await;
    assert_eq!(response.status, AuthStatus::Declined { reason: Some("not now".to_owned()) });
    assert_eq!(
        wallet.requests().iter().map(|r| (r.id.as_str(), r.answers)).collect::<Vec<_>>(),
        [("c1", 1), ("c2", 1)]
    );
    assert_eq!(wallet.sent_events().len(), 3);
    wallet.stop().await;
}

#[tokio::test]
async fn without_a_policy_it_sends_no_reply() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = wallet(Policy::silent()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    assert_eq!(wallet.next_request(QUIET).await.unwrap_err(), NoRequest);
    service.challenge(&wallet.public_key(), "c1").await;
    wallet.next_request(LONG).await.unwrap();
    assert_eq!(wallet.sent_events().len(), 1);
}

#[tokio::test]
async fn the_policy_decides_automatic_replies() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = wallet(Policy::auto_approve()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let key = wallet.public_key();
    service.challenge(&key, "yes").await;
    assert!(is_approved(&service.next_response().await.1));
    wallet.set_policy(Policy::auto_decline(None));
    service.challenge(&key, "no").await;
    assert!(!is_approved(&service.next_response().await.1));
    let delay = Duration::from_millis(200);
    wallet.set_policy(Policy::auto_approve().after(delay));
    let asked = tokio::time::Instant::now();
    service.challenge(&key, "late").await;
    assert!(is_approved(&service.next_response().await.1));
    assert!(asked.elapsed() >= delay);
}

#[tokio::test]
async fn unknown_services_can_be_ignored() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut unknown = Service::start(relay.url()).await;
    let mut service = Service::start(relay.url()).await;
    let wallet = wallet(Policy::auto_approve().for_known_services()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    unknown.challenge(&wallet.public_key(), "s").await;
    assert_eq!(wallet.next_request(LONG).await.unwrap().service, None);
    service.challenge(&wallet.public_key(), "k").await;
    assert_eq!(service.next_response().await.1.challenge, "k");
    let unanswered: Vec<_> = wallet.requests().into_iter().filter(|r| r.answers == 0).map(|r| r.id).collect();
    assert_eq!(unanswered, ["s"]);
    // The user can still reply.
    wallet.approve(&wallet.requests()[0]).unwrap();
    assert!(is_approved(&unknown.next_response().await.1));
}

#[tokio::test]
async fn repeated_request_gets_the_same_reply() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = wallet(Policy::silent()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let key = wallet.public_key();

    let first = service.challenge(&key, "c").await;
    let request = wallet.next_request(LONG).await.unwrap();
    wallet.approve(&request).unwrap();
    let (answer, _) = service.next_response().await;
    // Sealed anew: another event, the same challenge.
    service.challenge(&key, "c").await;
    let (again, response) = service.next_response().await;
    assert!(is_approved(&response));
    // A relay that remembers ids would not forward the same event again.
    assert_ne!(answer.id, again.id);
    // The very same event.
    service.raw.publish(&first).await;
    assert!(is_approved(&service.next_response().await.1));
    assert_eq!(wallet.requests().len(), 1);
    assert_eq!((wallet.requests()[0].times, wallet.requests()[0].answers), (3, 3));
    assert_eq!(wallet.next_request(QUIET).await.unwrap_err(), NoRequest);
}

#[tokio::test]
async fn same_event_from_three_relays_gets_one_reply() {
    let relays = [
        QuirkyRelay::start(Quirks::default()).await.unwrap(),
        QuirkyRelay::start(Quirks::default()).await.unwrap(),
        QuirkyRelay::start(Quirks::default()).await.unwrap(),
    ];
    let urls: Vec<&str> = relays.iter().map(QuirkyRelay::url).collect();
    let mut service = Service::with_keys(Keys::generate(), urls[0], &urls).await;
    let wallet = wallet(Policy::auto_approve()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    for relay in &relays {
        relay.wait_for(LONG, |c| c.open_subscriptions >= 1 && c.events_of(kind::KEY_HANDSHAKE) == 1).await.unwrap();
    }
    let challenge = challenge_with("c", None);
    let event = service.seal(&wallet.public_key(), &[wallet.public_key()], &challenge);
    for relay in &relays {
        relay.inject(event.clone());
    }
    service.next_handshake().await;
    service.next_response().await;
    service.raw.silent().await;
    for relay in &relays {
        relay.wait_for(LONG, |c| c.events_of(kind::AUTH_RESPONSE) == 1).await.unwrap();
    }
    assert_eq!(wallet.requests()[0].times, 1);
}

#[tokio::test]
async fn a_wallet_without_tickets_lists_a_token() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = wallet(Policy::auto_approve()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let token = ServiceMessage::CashuDirect(CashuDirect { token: "cashuBabc".to_owned().into() });
    service.send(&wallet.public_key(), &[wallet.public_key()], &token).await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert_eq!(request.content.title(), "ticket");
    assert!(matches!(wallet.approve(&request), Err(WalletError::Tickets(TicketsError::NoTickets))));
}

#[tokio::test]
async fn unreachable_relays_are_an_error() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut url = Service::start(relay.url()).await.url();
    let wallet = wallet(Policy::silent()).await;
    url.relays = Vec::new();
    assert!(matches!(wallet.open(&url, LONG).await, Err(WalletError::NoRelays)));
    let dead = relay.url().to_owned();
    relay.stop().await;
    url.relays = vec![dead];
    assert!(matches!(wallet.open(&url, QUIET).await, Err(WalletError::Unreachable(_))));
    assert!(wallet.sent_events().is_empty());
}

#[tokio::test]
async fn wallets_own_relays_are_announced_and_used() {
    let (theirs, ours) = (EmbeddedRelay::start().await.unwrap(), EmbeddedRelay::start().await.unwrap());
    let mut service = Service::start(theirs.url()).await;
    let wallet = Wallet::start(WalletOptions::new(Identity::generate()).relay(ours.url())).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    assert_eq!(service.next_handshake().await.1.preferred_relays, [ours.url()]);
    // From now on the service uses only the user's relay.
    let mut there = Service::with_keys(service.keys.clone(), ours.url(), &[]).await;
    let request = loop {
        there.challenge(&wallet.public_key(), "c").await;
        if let Ok(request) = wallet.next_request(QUIET).await {
            break request;
        }
    };
    wallet.approve(&request).unwrap();
    there.next_response().await;
    service.next_response().await;
}

#[tokio::test]
async fn manual_reply_replaces_the_automatic_one() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    // Longer than this test takes on a busy machine.
    let policy = Duration::from_secs(3);
    let wallet = wallet(Policy::auto_approve().after(policy)).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    service.challenge(&wallet.public_key(), "c").await;
    let request = wallet.next_request(LONG).await.unwrap();
    wallet.decline(&request, None).unwrap();
    assert!(!is_approved(&service.next_response().await.1));
    tokio::time::sleep(policy + QUIET).await;
    assert_eq!(wallet.requests()[0].answers, 1);
}

#[tokio::test]
async fn burst_of_requests_loses_nothing() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = wallet(Policy::silent()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let key = wallet.public_key();
    for n in 0..3_000 {
        relay.inject(service.seal(&key, &[key], &challenge_with(&format!("c{n}"), None)));
    }
    for n in 0..3_000 {
        assert_eq!(wallet.next_request(LONG).await.unwrap().id, format!("c{n}"));
    }
}
