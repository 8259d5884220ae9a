//! Payments while the wallet service, a relay or our service is away for a moment: made once, and reported.

use std::sync::Arc;
use std::time::Duration;

use nostr::Timestamp;
use serde_json::json;
use usher_engine::ports::{Lightning as _, LightningError, LookupCoverage, OutgoingPaymentStatus, SignedPayment};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::{ErrorCode, LightningNetwork, Method, NwcKeys};
use usher_testing::lightning::{CallBehaviour, FaultyNwcService, LookupLie, Memory};
use usher_testing::ports::MemorySettings;
use usher_testing::proxy::BreakableProxy;

use crate::fixture::{
    BackendHandle, Fixture, LONG, QUIET, SOON, UNKNOWN, foreign_invoice, is_unknown, until, wanted, within,
};
use crate::scripted_wallet::ScriptedWallet;

/// Every kind of memory that deployed services have.
const MEMORIES: [Memory; 3] = [Memory::Lasting, Memory::WhileRunning, Memory::None];

/// A request that is signed and not sent.
async fn signed(fixture: &Fixture, invoice: &Invoice, secs: u64) -> SignedPayment {
    fixture.client.backend.prepare_payment(invoice, within(secs)).await.unwrap()
}

/// How often the invoice was paid, and how many different requests for it the service received.
fn paid_and_asked(fixture: &Fixture, invoice: &Invoice) -> (u32, u64) {
    (fixture.times_paid(invoice), fixture.service.metrics().calls(Method::PayInvoice))
}

#[tokio::test]
async fn a_wallet_that_was_away_gets_the_same_request_when_it_is_back() {
    for memory in MEMORIES {
        let fixture = Fixture::set_with(|behaviour| {
            behaviour.memory = memory;
            // It knows none of its payments, like many.
            behaviour.lookups = Some(LookupLie::ForgetPayments);
        })
        .await;
        fixture.service.stop().await;
        let invoice = fixture.external_invoice(1_000);
        let back = async {
            fixture.relay.wait_for(LONG, |metrics| metrics.events_of(23_194) >= 1).await.expect("asked in vain");
            tokio::time::sleep(QUIET).await;
            fixture.service.start_again().await;
        };
        let (paid, ()) = tokio::join!(fixture.pay(&invoice, 60), back);
        assert_eq!(paid.unwrap().preimage.payment_hash(), invoice.payment_hash(), "{memory:?}");
        assert_eq!(paid_and_asked(&fixture, &invoice), (1, 1), "{memory:?}");
    }
}

#[tokio::test]
async fn an_invoice_is_made_as_soon_as_the_wallet_is_back() {
    let fixture = Fixture::set().await;
    fixture.service.stop().await;
    let wish = wanted(5_000);
    let back = async {
        // The request, and then probes: the wallet service responds to none.
        fixture.relay.wait_for(LONG, |metrics| metrics.events_of(23_194) >= 2).await.expect("probed");
        fixture.service.start_again().await;
    };
    let (made, ()) = tokio::join!(fixture.client.backend.make_invoice(&wish), back);
    assert_eq!(made.unwrap().amount(), Some(5_000));
    assert_eq!(fixture.service.metrics().executed(Method::MakeInvoice), 1);
}

#[tokio::test]
async fn a_slow_wallet_gets_few_repeated_requests_for_invoices() {
    let fixture = Fixture::set_with(|behaviour| behaviour.latency = Duration::from_millis(1_000)).await;
    assert!(fixture.client.backend.make_invoice(&wanted(5_000)).await.is_ok());
    assert_eq!(fixture.service.metrics().calls(Method::MakeInvoice), 1);
}

#[tokio::test]
async fn a_service_that_acts_on_each_copy_pays_once_and_its_late_response_is_received() {
    let mut fixture = Fixture::set_with(|behaviour| {
        behaviour.memory = Memory::None;
        behaviour.holds_payments = true;
        behaviour.capabilities.notifications = false;
        behaviour.lookups = Some(LookupLie::ForgetPayments);
    })
    .await;
    let invoice = fixture.external_invoice(1_000);
    // The payment is in progress; the service responds "not found", gets the request again, and refuses the copy.
    let failure = fixture.pay(&invoice, 60).await.unwrap_err();
    assert!(matches!(failure, LightningError::Failed(_)), "that is no proof that nothing is under way: {failure:?}");
    assert_eq!(fixture.service.release_payments(true), 1);
    assert_eq!(fixture.client.sent().await, (invoice.payment_hash(), invoice.payment_hash()));
    assert_eq!(paid_and_asked(&fixture, &invoice).0, 1);
    fixture.client.quiet().await;
}

#[tokio::test]
async fn a_refusal_of_a_repeated_request_is_not_definite() {
    let fixture = Fixture::set_with(|behaviour| {
        behaviour.once(Method::PayInvoice, CallBehaviour::Ignore);
        behaviour.memory = Memory::None;
        behaviour.on(Method::PayInvoice, CallBehaviour::Refuse(ErrorCode::InsufficientBalance));
    })
    .await;
    let invoice = fixture.external_invoice(1_000);
    let failure = fixture.pay(&invoice, 60).await.unwrap_err();
    assert!(matches!(failure, LightningError::Failed(_)), "{failure:?}");
    // Sent once, it is definite.
    let failure = fixture.pay(&fixture.external_invoice(1_000), 60).await.unwrap_err();
    assert!(matches!(failure, LightningError::Refused { again: true, .. }), "{failure:?}");
}

#[tokio::test]
async fn after_a_restart_the_same_request_is_sent_when_the_wallet_does_not_know_it() {
    for memory in MEMORIES {
        for lookups in [None, Some(LookupLie::ForgetPayments), Some(LookupLie::PaymentsAsInvoices)] {
            let fixture =
                Fixture::set_with(|behaviour| (behaviour.memory, behaviour.lookups) = (memory, lookups)).await;
            // Stored and not sent.
            let invoice = fixture.external_invoice(1_000);
            let payment = signed(&fixture, &invoice, 60).await;
            let client = BackendHandle::start(&fixture.service.url());
            let paid = client.backend.pay(&invoice, &payment, true).await.unwrap();
            assert_eq!(paid.preimage.payment_hash(), invoice.payment_hash());
            assert_eq!(paid_and_asked(&fixture, &invoice), (1, 1), "{memory:?} {lookups:?}");

            // Sent and executed, and the response was lost with the process.
            let invoice = fixture.external_invoice(2_000);
            let payment = signed(&fixture, &invoice, SOON).await;
            fixture.service.set(|behaviour| behaviour.once(Method::PayInvoice, CallBehaviour::Mute));
            let reply = tokio::time::timeout(QUIET, fixture.client.backend.pay(&invoice, &payment, false)).await;
            assert!(reply.is_err(), "{reply:?}");
            fixture.service.wait_for(LONG, |metrics| metrics.executed(Method::PayInvoice) == 2).await.expect("paid");
            let again = client.backend.pay(&invoice, &payment, true).await;
            let is_as_expected = match lookups {
                None | Some(LookupLie::PaymentsAsInvoices) => again.is_ok(),
                // Unknown: a node's refusal of the second payment proves nothing about the first.
                _ => matches!(again, Err(LightningError::Unknown(_) | LightningError::Failed(_))),
            };
            assert!(is_as_expected, "{memory:?} {lookups:?}: {again:?}");
            assert_eq!(fixture.times_paid(&invoice), 1, "{memory:?} {lookups:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_cut_during_a_payment_neither_loses_nor_repeats_it() {
    for memory in MEMORIES {
        let fixture = Fixture::set_with(|behaviour| {
            behaviour.memory = memory;
            behaviour.lookups = Some(LookupLie::ForgetPayments);
        })
        .await;
        let proxy = BreakableProxy::start(fixture.relay.url().trim_start_matches("ws://").to_owned()).await.unwrap();
        let client = BackendHandle::start(&fixture.service.keys().url(&[proxy.ws_url()]));
        client.until(true).await;
        let invoice = fixture.external_invoice(1_000);
        let payment = client.backend.prepare_payment(&invoice, within(60)).await.unwrap();
        // Written into a connection that drops it.
        proxy.swallow();
        let back = async {
            tokio::time::sleep(QUIET).await;
            proxy.restore();
        };
        let (paid, ()) = tokio::join!(client.backend.pay(&invoice, &payment, false), back);
        assert_eq!(paid.unwrap().preimage.payment_hash(), invoice.payment_hash(), "{memory:?}");
        assert_eq!(paid_and_asked(&fixture, &invoice), (1, 1), "{memory:?}");
        // Cut before the write: the request was not sent, and another attempt is safe.
        let invoice = fixture.external_invoice(2_000);
        let payment = client.backend.prepare_payment(&invoice, within(60)).await.unwrap();
        proxy.cut();
        client.until(false).await;
        assert_eq!(client.backend.pay(&invoice, &payment, false).await, Err(LightningError::NotSent));
        proxy.restore();
        client.until(true).await;
        assert!(client.pay(&invoice, within(60)).await.is_ok());
        assert_eq!(fixture.times_paid(&invoice), 1, "{memory:?}");
    }
}

#[tokio::test]
async fn a_response_sent_during_a_reconnection_is_delivered_by_the_relay_later() {
    let (scripted, client, mut wire) = ScriptedWallet::connected().await;
    let preimage = Preimage::from_bytes([6; 32]);
    let invoice = foreign_invoice();
    let relay = async {
        let request = wire.request().await;
        let answer = json!({"result_type": "pay_invoice", "result": {"preimage": preimage.to_hex()}});
        let reply = wire.answer_to(&request, &answer);
        drop(wire);
        // As relays do that keep ephemeral events for some minutes.
        let mut wire = scripted.accept().await;
        let message = wire.subscription().await;
        let since = Timestamp::from_secs(message[3]["since"].as_u64().expect("a time"));
        assert!(since <= reply.created_at, "{message}");
        wire.event(&reply).await;
        wire.greet().await;
        wire
    };
    let (paid, _wire) = tokio::join!(client.pay(&invoice, within(60)), relay);
    assert_eq!(paid.unwrap().preimage, preimage);
}

#[tokio::test]
async fn look_ups_prove_nothing_about_requests_over_another_connection() {
    let fixture = Fixture::set().await;
    let (invoice, paid) = (fixture.external_invoice(1_000), fixture.external_invoice(2_000));
    let (relays, behaviour) = ([fixture.relay.url()], fixture.service.behaviour());
    let other = FaultyNwcService::start_with(&fixture.shop, &relays, NwcKeys::generate(), behaviour).await;
    other.ready(LONG).await.unwrap();
    let payment = signed(&fixture, &invoice, SOON).await;
    let client = BackendHandle::start(&other.url());
    client.until(true).await;
    assert!(client.pay(&paid, within(60)).await.is_ok());
    is_unknown(client.backend.pay(&invoice, &payment, true).await);
    until_void(&payment).await;
    // Although its own look-ups are known to find payments. Nor do they about a request that is altered.
    for payment in [payment.clone(), SignedPayment { until: 0, ..payment }] {
        assert_eq!(client.backend.look_up_payment(invoice.payment_hash(), Some(&payment)).await, UNKNOWN);
    }
}

async fn until_void(payment: &SignedPayment) {
    until("void", async || within(0) >= payment.until).await;
}

#[tokio::test]
async fn the_reliability_of_look_ups_is_learned_and_stored() {
    let fixture = Fixture::set().await;
    let kept = Arc::new(MemorySettings::default());
    let keeping = || {
        let store = kept.clone();
        BackendHandle::start_with(&fixture.service.url(), |options| options.settings.0 = Some(store))
    };
    let client = keeping();
    client.until(true).await;
    let never = fixture.external_invoice(1_000);
    let payment = client.backend.prepare_payment(&never, within(1)).await.unwrap();
    assert_eq!(client.backend.look_up_payment(never.payment_hash(), Some(&payment)).await, UNKNOWN);
    until_void(&payment).await;
    let is_worth = async |client: &BackendHandle, coverage| {
        let found = client.backend.look_up_payment(never.payment_hash(), Some(&payment)).await;
        found == Ok(OutgoingPaymentStatus::Unknown(coverage))
    };
    assert!(is_worth(&client, LookupCoverage::None).await, "nothing was seen yet");
    client.pay(&fixture.external_invoice(2_000), within(60)).await.unwrap();
    until("learned", async || is_worth(&client, LookupCoverage::Ended).await).await;
    // A pending payment that is found proves more.
    fixture.service.set(|behaviour| behaviour.holds_payments = true);
    let held = fixture.external_invoice(3_000);
    assert!(client.pay(&held, within(1)).await.is_err());
    assert_eq!(client.backend.look_up_payment(held.payment_hash(), None).await, Ok(OutgoingPaymentStatus::Pending));
    until("learned", async || is_worth(&client, LookupCoverage::InProgress).await).await;
    // After a restart it is still known.
    client.stop().await;
    let client = keeping();
    assert!(is_worth(&client, LookupCoverage::InProgress).await);
    // Until a look-up shows that it is no longer so.
    fixture.service.set(|behaviour| {
        behaviour.holds_payments = false;
        behaviour.lookups = Some(LookupLie::PaymentsAsInvoices);
    });
    client.pay(&fixture.external_invoice(4_000), within(60)).await.unwrap();
    until("learned", async || is_worth(&client, LookupCoverage::None).await).await;
    assert!(kept.is_empty());
}

#[tokio::test]
async fn a_wallet_whose_clock_is_behind_may_still_act_on_a_request() {
    let clock = usher_sandbox::clock::UnixClock(Arc::new(|| within(0) - 600));
    let fixture = Fixture::set_in(LightningNetwork::with_clock(clock), |_| {}).await;
    fixture.pay(&fixture.external_invoice(2_000), 60).await.unwrap();
    let invoice = fixture.external_invoice(1_000);
    let payment = signed(&fixture, &invoice, 1).await;
    until_void(&payment).await;
    tokio::time::sleep(QUIET).await;
    let found = fixture.client.backend.look_up_payment(invoice.payment_hash(), Some(&payment)).await;
    assert_eq!(found, UNKNOWN, "by its clock it is not void");
}

#[tokio::test]
async fn after_a_healthy_connection_the_next_is_made_at_once_and_payments_continue() {
    let (scripted, client, mut wire) = ScriptedWallet::connected().await;
    let invoice = foreign_invoice();
    // Long enough to be healthy.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let lost = async {
        let first = wire.request().await;
        drop(wire);
        let mut wire = scripted.subscribed().await;
        let look_up = wire.request().await;
        assert_eq!(look_up.method, "lookup_invoice", "first it is asked whether it knows the payment");
        let refusal = wire.answer_to(&look_up, &json!({"error": {"code": "NOT_FOUND", "message": ""}}));
        wire.event(&refusal).await;
        let again = wire.request().await;
        assert_eq!(again.event.id, first.event.id, "the same request");
        wire.answer(&again, &json!({"preimage": Preimage::from_bytes([6; 32]).to_hex()})).await;
        wire
    };
    let (paid, _wire) = tokio::join!(client.pay(&invoice, within(60)), lost);
    assert!(paid.is_ok(), "{paid:?}");
}
