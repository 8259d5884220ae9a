//! A relay or wallet service that is away: a request reported as failed is not executed later, and an unknown outcome
//! can be looked up.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::{
    Clock as _, InvoiceStatus, Lightning as _, LightningError, LookupCoverage, OutgoingPaymentStatus, SystemClock,
};
use usher_engine::testing::ManualClock;
use usher_faults::lightning::{CallBehaviour, FaultyNwcService, LookupLie};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork, Method};

use crate::backend_under_test::{BackendHandle, LONG, QUIET, wanted, within};
use crate::fixture::{Fixture, SOON};
use crate::scripted_wallet::{NOTIFICATION, ScriptedWallet};

fn is_unknown<T: std::fmt::Debug>(result: Result<T, LightningError>) {
    assert!(matches!(result, Err(LightningError::Unknown(_))), "{result:?}");
}

/// A relay that was stopped, so that nothing listens on its port.
async fn gone() -> (u16, String) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let gone = (relay.port(), relay.url().to_owned());
    relay.stop().await;
    gone
}

#[tokio::test]
async fn a_request_reported_as_not_sent_is_never_sent() {
    let (port, url) = gone().await;
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 10_000), network.open_account("user", 0));
    let service = FaultyNwcService::start(&shop, &[&url]).await;
    let client = BackendHandle::start(&service.url());
    let invoice = user.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
    let hash = invoice.payment_hash();
    // All at once: each waits for a connection for a while.
    let wallet = Arc::clone(&client.backend);
    let wish = wanted(1);
    let (paid, made, invoice, payment, info) = tokio::join!(
        client.pay(&invoice, within(60)),
        wallet.make_invoice(&wish),
        wallet.look_up_invoice(hash),
        wallet.look_up_payment(hash, None),
        wallet.info(),
    );
    assert_eq!(paid, Err(LightningError::NotSent));
    assert_eq!(made, Err(LightningError::NotSent));
    assert_eq!((invoice, payment), (Err(LightningError::NotSent), Err(LightningError::NotSent)));
    assert_eq!(info, Err(LightningError::NotSent));
    assert!(!wallet.status().connected);

    let relay = QuirkyRelay::start_on(port, Quirks::default()).await.unwrap();
    relay.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("both are there");
    client.until(true).await;
    assert_eq!(wallet.look_up_payment(hash, None).await, Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None)));
    assert_eq!(service.metrics().total(), 1, "this look-up and nothing that was asked before");
    assert_eq!((user.balance(), shop.balance()), (0, 10_000));
}

#[tokio::test]
async fn a_request_that_was_given_up_is_not_sent() {
    let (port, url) = gone().await;
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 10_000), network.open_account("user", 0));
    let service = FaultyNwcService::start(&shop, &[&url]).await;
    let client = BackendHandle::start(&service.url());
    let invoice = user.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
    let asked = tokio::time::timeout(Duration::from_millis(50), client.pay(&invoice, within(60))).await;
    assert!(asked.is_err(), "{asked:?}");
    let relay = QuirkyRelay::start_on(port, Quirks::default()).await.unwrap();
    relay.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("both are there");
    client.until(true).await;
    assert_eq!(
        client.backend.look_up_payment(invoice.payment_hash(), None).await,
        Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None))
    );
    assert_eq!(service.metrics().total(), 1);
}

#[tokio::test]
async fn an_expired_request_is_not_sent() {
    let fixture = Fixture::set().await;
    let invoice = fixture.external_invoice(1_000);
    for until in [0, within(0) - 1, within(0)] {
        assert_eq!(fixture.client.pay(&invoice, until).await, Err(LightningError::NotSent), "{until}");
    }
    assert_eq!(fixture.asked_to_pay().await, 0);
    let seen = fixture.relay.seen().into_iter().filter(|event| event.kind.as_u16() == 23_194).count();
    assert_eq!(seen, 2, "the two requests for the wallet's information alone");
}

#[tokio::test]
async fn a_wallet_that_is_away_may_have_paid() {
    let fixture = Fixture::set().await;
    let client = BackendHandle::start_with(&fixture.service.url(), Duration::from_millis(500));
    client.until(true).await;
    client.backend.info().await.unwrap();
    fixture.service.stop().await;
    let invoice = fixture.external_invoice(1_000);
    let hash = invoice.payment_hash();
    let wish = wanted(1);
    let (paid, made, invoice, payment, info) = tokio::join!(
        client.pay(&invoice, within(2)),
        client.backend.make_invoice(&wish),
        client.backend.look_up_invoice(hash),
        client.backend.look_up_payment(hash, None),
        client.backend.info(),
    );
    is_unknown(paid);
    is_unknown(made);
    is_unknown(invoice);
    is_unknown(payment);
    is_unknown(info);
    assert!(client.backend.status().connected, "its relay is there");
    fixture.service.start_again().await;
    fixture.service.ready(LONG).await.unwrap();
    assert_eq!(
        fixture.client.backend.look_up_payment(hash, None).await,
        Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None))
    );
    assert_eq!(fixture.asked_to_pay().await, 0);
}

#[tokio::test]
async fn a_payment_whose_response_is_lost_is_found_by_a_look_up() {
    let fixture = Fixture::set_with(|behaviour| {
        behaviour.notifications = false;
        behaviour.on(Method::PayInvoice, CallBehaviour::Mute);
    })
    .await;
    let invoice = fixture.external_invoice(1_000);
    let paid = fixture.pay(&invoice, 60).await.unwrap();
    assert_eq!(
        fixture.client.backend.look_up_payment(invoice.payment_hash(), None).await,
        Ok(OutgoingPaymentStatus::Paid(paid.clone()))
    );
    assert_eq!(paid.preimage.payment_hash(), invoice.payment_hash());
    assert_eq!((fixture.network.executed(invoice.payment_hash()), fixture.asked_to_pay().await), (1, 1));
}

#[tokio::test]
async fn a_late_response_is_neither_confused_nor_lost() {
    let mut fixture = Fixture::set_with(|behaviour| {
        behaviour.notifications = false;
        behaviour.lookups = Some(LookupLie::ForgetPayments);
        behaviour.once(Method::PayInvoice, CallBehaviour::Hold);
    })
    .await;
    let invoice = fixture.external_invoice(1_000);
    is_unknown(fixture.pay(&invoice, SOON).await);
    let next = fixture.external_invoice(2_000);
    assert_eq!(fixture.service.release(), 1);
    let paid = fixture.pay(&next, 60).await.unwrap();
    assert_eq!(paid.preimage.payment_hash(), next.payment_hash(), "the answer to this request, not to the other");
    let (hash, paid) = fixture.client.sent().await;
    assert_eq!((hash, paid.preimage.payment_hash()), (invoice.payment_hash(), invoice.payment_hash()));
    fixture.client.quiet().await;
}

#[tokio::test]
async fn a_request_kept_by_the_relay_expires() {
    let fixture = Fixture::set().await;
    fixture.relay.set(|quirks| quirks.stop_reading = true);
    let invoice = fixture.external_invoice(1_000);
    is_unknown(fixture.pay(&invoice, SOON).await);
    fixture.relay.set(|quirks| quirks.stop_reading = false);
    fixture.relay.wait_for(LONG, |metrics| metrics.events_of(23_194) >= 1).await.expect("read after all");
    assert_eq!(
        fixture.client.backend.look_up_payment(invoice.payment_hash(), None).await,
        Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None))
    );
    assert_eq!(fixture.network.executed(invoice.payment_hash()), 0);
}

#[tokio::test]
async fn a_look_up_lost_with_its_relay_is_sent_again() {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start(&scripted.url());
    let mut wire = scripted.subscribed().await;
    client.until(true).await;
    let hash = Preimage::from_bytes([4; 32]).payment_hash();
    let gone = async {
        let request = wire.request().await;
        drop(wire);
        let mut wire = scripted.subscribed().await;
        let next = wire.request().await;
        assert_eq!(next.event.id, request.event.id, "the same request");
        wire.answer(&next, &serde_json::json!({"state": "pending"})).await;
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(hash), gone);
    assert_eq!(found, Ok(InvoiceStatus::Open));
}

#[tokio::test]
async fn a_request_that_could_not_be_written_in_time_is_not_written_later() {
    // More than may wait to be read: the connection stands still until the engine takes its notifications.
    const NEWS: usize = 2_000;
    let scripted = ScriptedWallet::start().await;
    let mut client = BackendHandle::start(&scripted.url());
    let mut wire = scripted.subscribed().await;
    client.until(true).await;
    for number in 0..NEWS {
        let hash = Preimage::from_bytes([1; 32]).payment_hash().to_string();
        let hash = format!("{number:08x}{}", &hash[8..]);
        let fields = serde_json::json!({"payment_hash": hash});
        let told = serde_json::json!({"notification_type": "payment_received", "notification": fields});
        wire.tell(NOTIFICATION, &told.to_string()).await;
    }
    let invoice = LightningNetwork::new().open_account("payee", 0).make_invoice(&InvoiceTerms::of(1_000)).unwrap();
    // Then some hundred more are read, and no more: the connection does not read, and so does not write either.
    client.until_full().await;
    tokio::time::sleep(QUIET).await;
    let paid = client.pay(&invoice, within(1)).await;
    assert_eq!(paid, Err(LightningError::NotSent));
    // Nor what its caller gave up while it might still have been written.
    let given_up = tokio::time::timeout(Duration::from_millis(50), client.pay(&invoice, within(600))).await;
    assert!(given_up.is_err(), "{given_up:?}");
    for _ in 0..NEWS {
        client.settled().await;
    }
    let answering = async {
        let request = wire.request().await;
        assert_eq!(request.method, "lookup_invoice", "and not what was said not to have been sent");
        wire.answer(&request, &serde_json::json!({"state": "pending"})).await;
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(invoice.payment_hash()), answering);
    assert_eq!(found, Ok(InvoiceStatus::Open));
}

#[tokio::test]
async fn a_stop_ends_all_tasks_at_once() {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start_with(&scripted.url(), LONG * 10);
    let mut wire = scripted.subscribed().await;
    client.until(true).await;
    let stopping = async {
        // One request without a response, and nobody takes the notifications.
        wire.request().await;
        for number in 0..1_100 {
            let fields = serde_json::json!({"payment_hash": format!("{number:064x}")});
            let told = serde_json::json!({"notification_type": "payment_received", "notification": fields});
            wire.tell(NOTIFICATION, &told.to_string()).await;
        }
        client.until_full().await;
        client.stop().await;
        wire
    };
    let hash = Preimage::from_bytes([4; 32]).payment_hash();
    let all = async { tokio::join!(client.backend.look_up_invoice(hash), stopping) };
    let (found, mut wire) = tokio::time::timeout(LONG, all).await.expect("its answer is not waited for");
    is_unknown(found);
    wire.ended().await;
    assert!(!client.backend.status().connected);
}

#[tokio::test]
async fn clock_that_is_set_back_hides_no_response() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let fixture = Fixture::set().await;
    let clock = Arc::new(ManualClock::at(SystemClock.now().plus(DAY)));
    let client = BackendHandle::start_by(&fixture.service.url(), clock.clone());
    client.until(true).await;
    clock.turn_back(DAY);
    assert_eq!(client.backend.make_invoice(&wanted(1_000)).await.unwrap().amount(), Some(1_000));
}
