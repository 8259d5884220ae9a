//! A relay or wallet service that is away: a request reported as failed is not executed later, and an unknown outcome
//! can be looked up.

use std::sync::Arc;
use std::time::Duration;

use nostr::{Event, JsonUtil as _};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use usher_engine::ports::{Clock as _, InvoiceStatus, Lightning as _, LightningError, SystemClock};
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::Method;
use usher_testing::lightning::{CallBehaviour, LookupLie};
use usher_testing::ports::ManualClock;

use crate::fixture::{
    BackendHandle, Fixture, LONG, QUIET, SOON, UNKNOWN, foreign_invoice, hash, is_unknown, wanted, within,
};
use crate::scripted_wallet::ScriptedWallet;

/// How each request ends, made at once: `None` if it is answered.
async fn of_all_requests(client: &BackendHandle, invoice: &Invoice, secs: u64) -> [Option<LightningError>; 5] {
    let (wallet, hash, wish) = (&client.backend, invoice.payment_hash(), wanted(1));
    let (paid, made, invoice, payment, info) = tokio::join!(
        client.pay(invoice, within(secs)),
        wallet.make_invoice(&wish),
        wallet.look_up_invoice(hash),
        wallet.look_up_payment(hash, None),
        wallet.info(),
    );
    [paid.err(), made.err(), invoice.err(), payment.err(), info.err()]
}

#[tokio::test]
async fn a_request_reported_as_not_sent_or_given_up_is_never_sent() {
    let mut fixture = Fixture::without_relay().await;
    let invoice = fixture.external_invoice(1_000);
    // Each waits for a connection for a while.
    let given_up = timeout(Duration::from_millis(50), fixture.pay(&invoice, 60)).await;
    assert!(given_up.is_err(), "{given_up:?}");
    for refused in of_all_requests(&fixture.client, &invoice, 60).await {
        assert_eq!(refused, Some(LightningError::NotSent));
    }
    assert!(!fixture.client.backend.status().connected);

    fixture.start_relay().await;
    fixture.until_both_hear().await;
    assert_eq!(fixture.client.backend.look_up_payment(invoice.payment_hash(), None).await, UNKNOWN);
    assert_eq!(fixture.service.metrics().total(), 1, "this look-up and nothing that was asked before");
    assert_eq!(fixture.shop.balance(), Fixture::SHOP);
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
    let patience = Duration::from_millis(500);
    let client = BackendHandle::start_with(&fixture.service.url(), |options| options.patience = patience);
    client.until(true).await;
    client.backend.info().await.unwrap();
    fixture.service.stop().await;
    let invoice = fixture.external_invoice(1_000);
    for unknown in of_all_requests(&client, &invoice, 2).await {
        assert!(matches!(unknown, Some(LightningError::Unknown(_))), "{unknown:?}");
    }
    assert!(client.backend.status().connected, "its relay is there");
    fixture.service.start_again().await;
    fixture.service.ready(LONG).await.unwrap();
    assert_eq!(fixture.client.backend.look_up_payment(invoice.payment_hash(), None).await, UNKNOWN);
    assert_eq!(fixture.asked_to_pay().await, 0);
}

#[tokio::test]
async fn a_payment_whose_response_is_lost_is_found_by_a_look_up() {
    let fixture = Fixture::set_with(|behaviour| {
        behaviour.capabilities.notifications = false;
        behaviour.on(Method::PayInvoice, CallBehaviour::Mute);
    })
    .await;
    let invoice = fixture.external_invoice(1_000);
    let paid = fixture.pay(&invoice, 60).await.unwrap();
    assert_eq!(paid.preimage.payment_hash(), invoice.payment_hash());
    assert_eq!((fixture.times_paid(&invoice), fixture.asked_to_pay().await), (1, 1));
}

#[tokio::test]
async fn a_late_response_is_neither_confused_nor_lost() {
    let mut fixture = Fixture::set_with(|behaviour| {
        behaviour.capabilities.notifications = false;
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
    assert_eq!(fixture.client.sent().await, (invoice.payment_hash(), invoice.payment_hash()));
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
    assert_eq!(fixture.client.backend.look_up_payment(invoice.payment_hash(), None).await, UNKNOWN);
    assert_eq!(fixture.times_paid(&invoice), 0);
}

#[tokio::test]
async fn a_look_up_lost_with_its_relay_is_sent_again() {
    let (scripted, client, mut wire) = ScriptedWallet::connected().await;
    let gone = async {
        let request = wire.request().await;
        drop(wire);
        let next = scripted.subscribed().await.answer_pending().await;
        assert_eq!(next.event.id, request.event.id, "the same request");
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(hash()), gone);
    assert_eq!(found, Ok(InvoiceStatus::Open));
}

#[tokio::test]
async fn a_request_that_could_not_be_written_in_time_is_not_written_later() {
    // More than may wait to be read: the connection stands still until the engine takes its notifications.
    const NEWS: usize = 2_000;
    let (_scripted, mut client, mut wire) = ScriptedWallet::connected().await;
    wire.tell_of_payments(NEWS).await;
    let invoice = foreign_invoice();
    // Then some hundred more are read, and no more: the connection does not read, and so does not write either.
    client.until_full().await;
    tokio::time::sleep(QUIET).await;
    assert_eq!(client.pay(&invoice, within(1)).await, Err(LightningError::NotSent));
    // Nor what its caller gave up while it might still have been written.
    let given_up = timeout(Duration::from_millis(50), client.pay(&invoice, within(600))).await;
    assert!(given_up.is_err(), "{given_up:?}");
    for _ in 0..NEWS {
        client.settled().await;
    }
    let (found, request) = tokio::join!(client.backend.look_up_invoice(invoice.payment_hash()), wire.answer_pending());
    assert_eq!(request.method, "lookup_invoice", "and not what was said not to have been sent");
    assert_eq!(found, Ok(InvoiceStatus::Open));
}

#[tokio::test]
async fn a_stop_ends_all_tasks_at_once() {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start_with(&scripted.url(), |options| options.patience = LONG * 10);
    let mut wire = scripted.subscribed().await;
    client.until(true).await;
    let stopping = async {
        // One request without a response, and notifications without a receiver.
        wire.request().await;
        wire.tell_of_payments(1_100).await;
        client.until_full().await;
        client.stop().await;
        wire
    };
    let all = async { tokio::join!(client.backend.look_up_invoice(hash()), stopping) };
    let (found, mut wire) = timeout(LONG, all).await.expect("its answer is not waited for");
    is_unknown(found);
    wire.ended().await;
    assert!(!client.backend.status().connected);
}

#[tokio::test]
async fn clock_that_is_set_back_hides_no_response() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let fixture = Fixture::set().await;
    let clock = Arc::new(ManualClock::at(SystemClock.now().plus(DAY)));
    let client = BackendHandle::start_by(&fixture.service.url(), clock.clone(), |_| {});
    client.until(true).await;
    clock.turn_back(DAY);
    assert_eq!(client.invoice(1_000).await.amount(), Some(1_000));
}

#[tokio::test]
async fn a_relay_that_accepts_no_requests() {
    let scripted = ScriptedWallet::start().await;
    let patience = Duration::from_millis(800);
    let client = BackendHandle::start_with(&scripted.url(), |options| options.patience = patience);
    let mut wire = scripted.subscribed().await;
    client.until(true).await;
    let refusing = async {
        let request = wire.request().await;
        wire.ok(request.event.id, false, "blocked: not here").await;
        request
    };
    let (found, refused) = tokio::join!(client.backend.look_up_invoice(hash()), refusing);
    // A relay may refuse and forward nevertheless.
    is_unknown(found);
    let (found, request) = tokio::join!(client.backend.look_up_invoice(hash()), wire.answer_pending());
    assert_ne!(request.event.id, refused.event.id, "what it refused is not repeated");
    assert_eq!(found, Ok(InvoiceStatus::Open));
}

#[tokio::test]
async fn what_a_relay_refused_until_authentication_is_sent_again() {
    let (scripted, client, mut wire) = ScriptedWallet::connected().await;
    let answering = async {
        let refused = wire.request().await;
        wire.ok(refused.event.id, false, "auth-required: who are you?").await;
        wire.send(&json!(["AUTH", "x"])).await;
        let event = Event::from_json(wire.expect("AUTH").await[1].to_string()).unwrap();
        assert_eq!((event.pubkey, event.tags.challenge()), (scripted.app.public_key(), Some("x")));
        wire.ok(event.id, true, "").await;
        // The subscription may have more to show now, and is renewed.
        let again = loop {
            let message = wire.next().await;
            match message[0].as_str() {
                Some("EVENT") => break Event::from_json(message[1].to_string()).unwrap(),
                Some("REQ") => wire.resubscribed(&message).await,
                _ => assert_eq!(message[0], "CLOSE"),
            }
        };
        assert_eq!(again.id, refused.event.id);
        wire.answer(&refused, &json!({ "state": "pending" })).await;
    };
    let (found, ()) = tokio::join!(client.backend.look_up_invoice(hash()), answering);
    assert_eq!(found, Ok(InvoiceStatus::Open));
}

/// Continuation frames without end and without content never become a message, so only the connection's limits end them.
#[tokio::test]
async fn endless_continuation_frames_end_the_connection() {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start(&scripted.url());
    let mut stream = scripted.subscribed().await.into_stream();
    let flooding = async {
        // The beginning of a text message, and then thousands of empty fragments of it at a time.
        stream.write_all(&[0x01, 0x00]).await.unwrap();
        while stream.write_all(&[0; 16 * 1024]).await.is_ok() {}
    };
    timeout(LONG, flooding).await.expect("the backend closes the connection");
    client.until(false).await;
}
