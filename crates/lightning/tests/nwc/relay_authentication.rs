//! Relays that require authentication (NIP-42), or accept nothing.

use std::time::Duration;

use nostr::{Event, JsonUtil as _};
use serde_json::{Value, json};
use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningError, LightningNotification};
use usher_faults::lightning::FaultyNwcService;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::message::{PaymentHash, Preimage};
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork};

use crate::backend_under_test::{BackendHandle, LONG, within};
use crate::scripted_wallet::{ScriptedWallet, Wire};

fn hash() -> PaymentHash {
    Preimage::from_bytes([5; 32]).payment_hash()
}

/// The next message, which must authenticate: for this challenge, signed by the app's key.
async fn authentication(wire: &mut Wire, scripted: &ScriptedWallet, challenge: &str) -> Event {
    let message = wire.expect("AUTH").await;
    let event = Event::from_json(message[1].to_string()).unwrap();
    event.verify().unwrap();
    assert_eq!((event.kind.as_u16(), event.pubkey), (22_242, scripted.app.public_key()));
    assert_eq!(event.tags.challenge(), Some(challenge));
    event
}

async fn challenge(wire: &mut Wire, challenge: &str) {
    wire.send(&json!(["AUTH", challenge])).await;
}

fn pending() -> Value {
    json!({"state": "pending"})
}

#[tokio::test]
async fn a_relay_that_requires_it_for_everything() {
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 10_000), network.open_account("user", 10_000));
    let relay = QuirkyRelay::start(Quirks { require_auth: true, ..Quirks::default() }).await.unwrap();
    let service = FaultyNwcService::start(&shop, &[relay.url()]).await;
    let mut client = BackendHandle::start(&service.url());
    relay.wait_for(LONG, |metrics| metrics.auths_valid == 2).await.expect("both said who they are");
    relay.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("and hear");
    client.until(true).await;
    let made = client.invoice(100).await;
    user.pay(made.as_str(), None).unwrap();
    assert_eq!(client.settled().await.0, made.payment_hash());
    let invoice = user.make_invoice(&InvoiceTerms::of(100)).unwrap();
    let paid = client.pay(&invoice, within(60)).await.unwrap();
    assert_eq!(client.notification().await, LightningNotification::Sent(invoice.payment_hash(), paid));
}

#[tokio::test]
async fn a_relay_that_requires_it_for_reading() {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start(&scripted.url());
    let mut wire = scripted.accept().await;
    wire.subscription().await;
    // First the refusal, then, after a while, the challenge.
    wire.closed("auth-required: who are you?").await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert!(!client.backend.status().connected, "nothing can be heard");
    challenge(&mut wire, "x1").await;
    let event = authentication(&mut wire, &scripted, "x1").await;
    wire.ok(event.id, true, "").await;
    wire.subscription().await;
    assert!(!client.backend.status().connected);
    wire.greet().await;
    client.until(true).await;
    let answering = async {
        let request = wire.request().await;
        wire.answer(&request, &pending()).await;
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(hash()), answering);
    assert_eq!(found, Ok(InvoiceStatus::Open));
}

#[tokio::test]
async fn a_relay_that_requires_it_for_writing() {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start(&scripted.url());
    let mut wire = scripted.subscribed().await;
    client.until(true).await;
    let answering = async {
        let refused = wire.request().await;
        wire.ok(refused.event.id, false, "auth-required: who are you?").await;
        challenge(&mut wire, "x2").await;
        let event = authentication(&mut wire, &scripted, "x2").await;
        wire.ok(event.id, true, "").await;
        // What it refused is sent once more, and the subscription may have more to show now.
        let again = loop {
            let message = wire.next().await;
            match message[0].as_str() {
                Some("EVENT") => break Event::from_json(message[1].to_string()).unwrap(),
                Some("REQ") => wire.resubscribed(&message).await,
                Some("CLOSE") => {}
                _ => panic!("{message}"),
            }
        };
        assert_eq!(again.id, refused.event.id);
        wire.answer(&refused, &pending()).await;
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(hash()), answering);
    assert_eq!(found, Ok(InvoiceStatus::Open));
}

#[tokio::test]
async fn a_relay_that_refuses_us() {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start(&scripted.url());
    for _ in 0..2 {
        let mut wire = scripted.accept().await;
        challenge(&mut wire, "x3").await;
        wire.subscription().await;
        wire.closed("auth-required: who are you?").await;
        let event = authentication(&mut wire, &scripted, "x3").await;
        wire.ok(event.id, false, "restricted: members only").await;
        // The connection is closed and tried again later.
        wire.ended().await;
        assert!(!client.backend.status().connected);
    }
}

#[tokio::test]
async fn endless_challenges_are_not_answered_forever() {
    let scripted = ScriptedWallet::start().await;
    let _client = BackendHandle::start(&scripted.url());
    let mut wire = scripted.accept().await;
    for number in 0..200 {
        if wire.try_send(&json!(["AUTH", number.to_string()])).await.is_err() {
            break;
        }
    }
    wire.ended().await;
}

#[tokio::test]
async fn a_relay_that_accepts_no_requests() {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start_with(&scripted.url(), Duration::from_millis(800));
    let mut wire = scripted.subscribed().await;
    client.until(true).await;
    let refusing = async {
        let request = wire.request().await;
        wire.ok(request.event.id, false, "blocked: not here").await;
        request
    };
    let (found, refused) = tokio::join!(client.backend.look_up_invoice(hash()), refusing);
    // A relay may refuse and forward nevertheless.
    assert!(matches!(found, Err(LightningError::Unknown(_))), "{found:?}");
    let answering = async {
        let request = wire.request().await;
        assert_ne!(request.event.id, refused.event.id, "what it refused is not repeated");
        wire.answer(&request, &pending()).await;
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(hash()), answering);
    assert_eq!(found, Ok(InvoiceStatus::Open));
}
