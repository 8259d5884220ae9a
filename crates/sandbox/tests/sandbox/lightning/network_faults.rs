//! A wallet service that is slow, away, or at several relays.

use std::time::Duration;

use serde_json::{Value, json};
use usher_faults::lightning::{CallBehaviour, FaultyNwcService};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork, Method, NwcClient, NwcError, State};

use super::nwc_service::Fixture;
use super::raw_nwc_app::App;
use crate::raw_client::LONG;

#[tokio::test]
async fn held_replies_wait_for_release_and_postponed_ones_for_a_restart() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let invoices: Vec<_> = (0..2).map(|_| fixture.user.make_invoice(&InvoiceTerms::of(1_000)).unwrap()).collect();
    fixture.service.set(|behaviour| behaviour.on(Method::PayInvoice, CallBehaviour::Hold));
    let held = app.ask(Method::PayInvoice, json!({"invoice": invoices[0].as_str()})).await;
    fixture.service.wait_for(LONG, |metrics| metrics.executed(Method::PayInvoice) == 1).await.unwrap();
    fixture.service.set(|behaviour| behaviour.on(Method::PayInvoice, CallBehaviour::Postpone));
    let postponed = app.ask(Method::PayInvoice, json!({"invoice": invoices[1].as_str()})).await;
    fixture.service.wait_for(LONG, |metrics| metrics.calls(Method::PayInvoice) == 2).await.unwrap();
    let executed = || -> Vec<_> { invoices.iter().map(|i| fixture.network.executed(i.payment_hash())).collect() };
    assert_eq!((executed(), fixture.service.metrics().answers), (vec![1, 0], 0));

    fixture.service.stop().await;
    // It does not arrive.
    app.ask(Method::GetBalance, json!({})).await;
    fixture.service.start_again().await;
    fixture.service.ready(LONG).await.unwrap();
    assert_eq!(fixture.service.release(), 2);
    assert!(app.answer_to(held).await["error"].is_null());
    assert!(app.answer_to(postponed).await["error"].is_null());
    assert_eq!((executed(), fixture.service.metrics().calls(Method::GetBalance)), (vec![1, 1], 0));
    assert_eq!(fixture.service.release(), 0);
}

#[tokio::test]
async fn payments_stay_in_flight_until_settled_or_failed() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    fixture.service.set(|behaviour| behaviour.holds_payments = true);
    let invoices: Vec<_> = (0..2).map(|_| fixture.user.make_invoice(&InvoiceTerms::of(10_000)).unwrap()).collect();
    let by = |n: usize| json!({"invoice": invoices[n].as_str()});
    let outgoing = |n: usize| fixture.shop.outgoing(invoices[n].payment_hash()).unwrap();
    let first = app.ask(Method::PayInvoice, by(0)).await;
    fixture.service.wait_for(LONG, |metrics| metrics.executed(Method::PayInvoice) == 1).await.unwrap();
    assert_eq!(app.result(Method::LookupInvoice, by(0)).await["state"], "pending");
    assert_eq!(app.refused(Method::PayInvoice, by(0)).await, "PAYMENT_FAILED");
    assert_eq!((fixture.shop.balance(), fixture.network.totals().in_flight), (989_990, 10_010));
    assert_eq!(fixture.service.release_payments(true), 1);
    assert!(app.answer_to(first).await["result"]["preimage"].is_string());
    assert_eq!(outgoing(0).state, State::Settled);

    let second = app.ask(Method::PayInvoice, by(1)).await;
    fixture.service.wait_for(LONG, |metrics| metrics.executed(Method::PayInvoice) == 3).await.unwrap();
    assert_eq!(fixture.service.release_payments(false), 1);
    assert_eq!(app.answer_to(second).await["error"]["code"], "PAYMENT_FAILED");
    assert_eq!((outgoing(1).state, fixture.shop.balance()), (State::Failed, 989_990));
    assert_eq!(app.result(Method::LookupInvoice, by(1)).await["state"], "failed");
    // Another try may work.
    fixture.service.set(|behaviour| behaviour.holds_payments = false);
    app.result(Method::PayInvoice, by(1)).await;
    assert_eq!(outgoing(1).state, State::Settled);
}

#[tokio::test]
async fn execution_and_reply_can_be_delayed() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let took = |asked: tokio::time::Instant| asked.elapsed() >= Duration::from_millis(200);
    fixture.service.set(|behaviour| behaviour.hesitation = Duration::from_millis(200));
    let asked = tokio::time::Instant::now();
    app.result(Method::GetBalance, json!({})).await;
    assert!(took(asked));
    fixture.service.set(|behaviour| {
        behaviour.hesitation = Duration::ZERO;
        behaviour.latency = Duration::from_millis(200);
    });
    let asked = tokio::time::Instant::now();
    let id = app.ask(Method::GetBalance, json!({})).await;
    fixture.service.wait_for(LONG, |metrics| metrics.executed(Method::GetBalance) == 2).await.unwrap();
    app.answer_to(id).await;
    assert!(took(asked));
}

#[tokio::test]
async fn service_with_several_relays_and_one_late() {
    let network = LightningNetwork::new();
    let shop = network.open_account("shop", 5);
    let here = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let there = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let (port, address) = (there.port(), there.url().to_owned());
    there.stop().await;
    let service = FaultyNwcService::start(&shop, &[&address, here.url()]).await;
    service.ready(LONG).await.unwrap();
    assert_eq!(service.url().matches("relay=").count(), 2);
    // `App` knows the first relay only, which is away; the other one does.
    let client: NwcClient = service.url().parse().unwrap();
    assert_eq!(client.call(Method::GetBalance, json!({})).await.unwrap()["balance"], 5);
    let there = QuirkyRelay::start_on(port, Quirks::default()).await.unwrap();
    there.wait_for(LONG, |metrics| metrics.events_of(13194) >= 1 && metrics.open_subscriptions >= 1).await.unwrap();
    let mut app = App::connect(&service.url()).await;
    assert_eq!(app.result(Method::GetBalance, json!({})).await["balance"], 5);
    assert!(app.next_info().await);
}

#[tokio::test]
async fn reference_wallet_connection_handles_faults() {
    let fixture = Fixture::set().await;
    let client: NwcClient = fixture.service.url().parse().unwrap();
    let balance = |answer: Result<Value, NwcError>| answer.map(|result| result["balance"].as_u64());
    assert_eq!(balance(client.call(Method::GetBalance, json!({})).await), Ok(Some(1_000_000)));
    fixture.service.set(|behaviour| {
        behaviour.offers.remove(&Method::PayInvoice);
        behaviour.on(Method::GetBalance, CallBehaviour::Empty);
    });
    assert_eq!(balance(client.call(Method::GetBalance, json!({})).await), Err(NwcError::InvalidResponse));
    let refused = client.call(Method::PayInvoice, json!({"invoice": "x"})).await.unwrap_err();
    assert!(matches!(&refused, NwcError::Refused { code, .. } if code == "NOT_IMPLEMENTED") && refused.is_definite());
    assert!(!format!("{client:?}").contains(&fixture.service.keys().app.secret_key().to_secret_hex()));
    assert!(!format!("{:?}", fixture.service).contains(&fixture.service.keys().app.secret_key().to_secret_hex()));
    for wrong in ["", "nostr+walletconnect://abc?relay=ws://x&secret=1", "https://example.org"] {
        assert!(wrong.parse::<NwcClient>().is_err());
    }
}
