//! Relays that require authentication (NIP-42), or accept nothing.

use std::time::Duration;

use serde_json::{Value, json};
use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningError, LightningNotification};
use usher_faults::lightning::FaultyNwcService;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::message::{PaymentHash, Preimage};
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork};

use crate::backend_under_test::{BackendHandle, LONG, within};
use crate::scripted_wallet::ScriptedWallet;

fn hash() -> PaymentHash {
    Preimage::from_bytes([5; 32]).payment_hash()
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
