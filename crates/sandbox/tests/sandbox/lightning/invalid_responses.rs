//! A wallet service that violates NIP-47. What its lies look like is shown where they are found out: in the tests of
//! `usher-lightning`.

use serde_json::{Value, json};
use usher_faults::lightning::CallBehaviour;
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::{ErrorCode, InvoiceTerms, Method};

use super::nwc_service::Fixture;
use crate::raw_client::LONG;

fn make() -> Value {
    json!({"amount": 10_000, "description": "tea", "expiry": 600})
}

fn invoice(made: &Value) -> Invoice {
    made["invoice"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn refused_payment_that_is_made_all_the_same() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let bill = fixture.user.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
    let by = json!({"invoice": bill.as_str()});
    fixture.service.set(|behaviour| {
        behaviour.on(Method::PayInvoice, CallBehaviour::RefuseAndExecute(ErrorCode::PaymentFailed));
    });
    assert_eq!(app.refused(Method::PayInvoice, by.clone()).await, "PAYMENT_FAILED");
    assert_eq!(fixture.network.executed(bill.payment_hash()), 1);
    assert_eq!(app.result(Method::LookupInvoice, by).await["state"], "settled");
}

#[tokio::test]
async fn every_kind_of_invalid_reply() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let on = |call_behaviour| fixture.service.set(|behaviour| behaviour.on(Method::GetBalance, call_behaviour));

    for code in [ErrorCode::RateLimited, ErrorCode::QuotaExceeded, ErrorCode::Internal, ErrorCode::Restricted] {
        on(CallBehaviour::Refuse(code));
        assert_eq!(app.refused(Method::GetBalance, json!({})).await, code.as_str());
    }
    assert_eq!(fixture.service.metrics().executed(Method::GetBalance), 0);
    on(CallBehaviour::Twice);
    let id = app.ask(Method::GetBalance, json!({})).await;
    assert_eq!(app.answer_to(id).await, app.answer_to(id).await);
    on(CallBehaviour::Garble);
    app.ask(Method::GetBalance, json!({})).await;
    let event = app.next_of(23195).await;
    assert!(serde_json::from_str::<Value>(&app.text(&event)).is_err());
    on(CallBehaviour::Empty);
    assert_eq!(app.call(Method::GetBalance, json!({})).await, json!({}));
    // A response of another key does not match the subscription.
    on(CallBehaviour::Impersonate);
    app.ask(Method::GetBalance, json!({})).await;
    fixture.relay.wait_for(LONG, |metrics| metrics.events_of(23195) == 9).await.unwrap();
    let last = fixture.relay.seen().into_iter().rfind(|event| event.kind.as_u16() == 23195).unwrap();
    assert_ne!(last.pubkey, app.wallet);

    // Silence, with the deed and without it. What is asked after it is answered, so silence has been shown.
    let invoices: Vec<Invoice> = (0..2).map(|_| fixture.user.make_invoice(&InvoiceTerms::of(1_000)).unwrap()).collect();
    fixture.service.set(|behaviour| behaviour.on(Method::PayInvoice, CallBehaviour::Ignore));
    app.ask(Method::PayInvoice, json!({"invoice": invoices[0].as_str()})).await;
    fixture.service.wait_for(LONG, |metrics| metrics.calls(Method::PayInvoice) == 1).await.unwrap();
    fixture.service.set(|behaviour| behaviour.on(Method::PayInvoice, CallBehaviour::Mute));
    app.ask(Method::PayInvoice, json!({"invoice": invoices[1].as_str()})).await;
    app.result(Method::GetInfo, json!({})).await;
    let metrics = fixture.service.metrics();
    assert_eq!((metrics.calls(Method::PayInvoice), metrics.executed(Method::PayInvoice)), (2, 1));
    let executed: Vec<_> = invoices.iter().map(|i| fixture.network.executed(i.payment_hash())).collect();
    assert_eq!(executed, [0, 1]);
}

#[tokio::test]
async fn methods_not_offered_are_refused() {
    let fixture = Fixture::set().await;
    fixture.service.set(|behaviour| {
        behaviour.offers.remove(&Method::LookupInvoice);
        behaviour.notifications = false;
    });
    let mut app = fixture.app().await;
    let info = loop {
        // A relay may still forward earlier events.
        let event = app.next_of(13194).await;
        if !event.content.contains("lookup_invoice") {
            break event;
        }
    };
    assert!(!info.content.contains("notifications"));
    let hash = json!({"payment_hash": "00".repeat(32)});
    assert_eq!(app.refused(Method::LookupInvoice, hash).await, "NOT_IMPLEMENTED");
    let made = app.result(Method::MakeInvoice, make()).await;
    fixture.user.pay(invoice(&made).as_str(), None).unwrap();
    app.result(Method::GetBalance, json!({})).await;
    assert_eq!(fixture.service.metrics().notifications, 0);
}
