//! A wallet service that lies, or violates NIP-47.

use serde_json::{Value, json};
use usher_faults::lightning::{Conduct, InvoiceLie, LookupLie, PayLie};
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::Preimage;
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
async fn false_invoices() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let first = app.result(Method::MakeInvoice, make()).await;
    let mut lied = Vec::new();
    for lie in [
        InvoiceLie::LessAmount,
        InvoiceLie::MoreAmount,
        InvoiceLie::NoAmount,
        InvoiceLie::OtherNetwork,
        InvoiceLie::Expired,
        InvoiceLie::Foreign,
        InvoiceLie::Reused,
        InvoiceLie::OtherHash,
    ] {
        fixture.service.set(|behaviour| behaviour.invoices = Some(lie));
        lied.push(app.result(Method::MakeInvoice, make()).await);
    }
    let amounts: Vec<_> = lied.iter().map(|made| invoice(made).amount()).collect();
    assert_eq!(amounts[..3], [Some(9_999), Some(10_001), None]);
    assert_eq!(invoice(&lied[3]).network(), Network::Bitcoin);
    assert!(invoice(&lied[4]).is_expired(nostr::Timestamp::now().as_secs()));
    let foreign = json!({"invoice": lied[5]["invoice"]});
    assert_eq!(app.refused(Method::LookupInvoice, foreign).await, "NOT_FOUND");
    assert_eq!(lied[6]["invoice"], lied[4]["invoice"], "the last one of its own");
    assert_ne!(lied[7]["payment_hash"], invoice(&lied[7]).payment_hash().to_string());
    assert_ne!(first["invoice"], lied[7]["invoice"]);
    fixture.service.set(|behaviour| behaviour.invoices = Some(InvoiceLie::Garbage));
    let garbage = app.result(Method::MakeInvoice, make()).await;
    assert!(garbage["invoice"].as_str().unwrap().parse::<Invoice>().is_err());
    fixture.service.set(|behaviour| behaviour.invoices = None);
    assert_eq!(invoice(&app.result(Method::MakeInvoice, make()).await).amount(), Some(10_000));
}

#[tokio::test]
async fn false_invoice_states() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let made = app.result(Method::MakeInvoice, make()).await;
    let by = json!({"payment_hash": made["payment_hash"]});
    let hash = invoice(&made).payment_hash();

    fixture.service.set(|behaviour| behaviour.lookups = Some(LookupLie::Settled));
    let lie = app.result(Method::LookupInvoice, by.clone()).await;
    assert_eq!((&lie["state"], lie["settled_at"].is_u64(), &lie["preimage"]), (&json!("settled"), true, &Value::Null));
    fixture.service.set(|behaviour| behaviour.lookups = Some(LookupLie::SettledWithWrongPreimage));
    let lie = app.result(Method::LookupInvoice, by.clone()).await;
    let preimage: Preimage = serde_json::from_value(lie["preimage"].clone()).unwrap();
    assert_ne!(preimage.payment_hash(), hash);
    assert!(fixture.service.claim_received(hash));
    let event = app.next_of(23197).await;
    assert_eq!(app.open(&event)["notification"]["state"], "settled");
    assert_eq!((fixture.shop.balance(), fixture.network.executed(hash)), (1_000_000, 0));

    fixture.user.pay(invoice(&made).as_str(), None).unwrap();
    for (lie, state) in
        [(LookupLie::Pending, "pending"), (LookupLie::Failed, "failed"), (LookupLie::Expired, "expired")]
    {
        fixture.service.set(|behaviour| behaviour.lookups = Some(lie));
        let lie = app.result(Method::LookupInvoice, by.clone()).await;
        assert_eq!((lie["state"].as_str(), lie.get("preimage"), lie.get("settled_at")), (Some(state), None, None));
    }
    fixture.service.set(|behaviour| behaviour.lookups = Some(LookupLie::OtherHash));
    assert_ne!(app.result(Method::LookupInvoice, by.clone()).await["payment_hash"], made["payment_hash"]);
    fixture.service.set(|behaviour| behaviour.lookups = Some(LookupLie::Forget));
    assert_eq!(app.refused(Method::LookupInvoice, by.clone()).await, "NOT_FOUND");
    fixture.service.set(|behaviour| behaviour.lookups = None);
    assert_eq!(app.result(Method::LookupInvoice, by).await["state"], "settled");
}

#[tokio::test]
async fn false_payment_results() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let invoices: Vec<Invoice> = (0..3).map(|_| fixture.user.make_invoice(&InvoiceTerms::of(1_000)).unwrap()).collect();
    let by = |n: usize| json!({"invoice": invoices[n].as_str()});
    let proves = |paid: &Value, n: usize| {
        let preimage: Preimage = serde_json::from_value(paid["preimage"].clone()).unwrap();
        preimage.payment_hash() == invoices[n].payment_hash()
    };
    fixture.service.set(|behaviour| behaviour.pays = Some(PayLie::Pretend));
    let lie = app.result(Method::PayInvoice, by(0)).await;
    assert!(!proves(&lie, 0) && fixture.network.executed(invoices[0].payment_hash()) == 0);
    fixture.service.set(|behaviour| behaviour.pays = Some(PayLie::WrongPreimage));
    let lie = app.result(Method::PayInvoice, by(1)).await;
    assert!(!proves(&lie, 1) && fixture.network.executed(invoices[1].payment_hash()) == 1);

    fixture.service.set(|behaviour| {
        behaviour.pays = None;
        behaviour.on(Method::PayInvoice, Conduct::RefuseAndExecute(ErrorCode::PaymentFailed));
    });
    assert_eq!(app.refused(Method::PayInvoice, by(2)).await, "PAYMENT_FAILED");
    assert_eq!(fixture.network.executed(invoices[2].payment_hash()), 1);
    assert_eq!(app.result(Method::LookupInvoice, by(2)).await["state"], "settled");
}

#[tokio::test]
async fn every_kind_of_invalid_reply() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let on = |conduct| fixture.service.set(|behaviour| behaviour.on(Method::GetBalance, conduct));

    for code in [ErrorCode::RateLimited, ErrorCode::QuotaExceeded, ErrorCode::Internal, ErrorCode::Restricted] {
        on(Conduct::Refuse(code));
        assert_eq!(app.refused(Method::GetBalance, json!({})).await, code.as_str());
    }
    assert_eq!(fixture.service.metrics().executed(Method::GetBalance), 0);
    on(Conduct::Twice);
    let id = app.ask(Method::GetBalance, json!({})).await;
    assert_eq!(app.answer_to(id).await, app.answer_to(id).await);
    on(Conduct::Garble);
    app.ask(Method::GetBalance, json!({})).await;
    let event = app.next_of(23195).await;
    assert!(serde_json::from_str::<Value>(&app.text(&event)).is_err());
    on(Conduct::Empty);
    assert_eq!(app.call(Method::GetBalance, json!({})).await, json!({}));
    // A response of another key does not match the subscription.
    on(Conduct::Impersonate);
    app.ask(Method::GetBalance, json!({})).await;
    fixture.relay.wait_for(LONG, |metrics| metrics.events_of(23195) == 9).await.unwrap();
    let last = fixture.relay.seen().into_iter().rfind(|event| event.kind.as_u16() == 23195).unwrap();
    assert_ne!(last.pubkey, app.wallet);

    // Silence, with the deed and without it. What is asked after it is answered, so silence has been shown.
    let invoices: Vec<Invoice> = (0..2).map(|_| fixture.user.make_invoice(&InvoiceTerms::of(1_000)).unwrap()).collect();
    fixture.service.set(|behaviour| behaviour.on(Method::PayInvoice, Conduct::Ignore));
    app.ask(Method::PayInvoice, json!({"invoice": invoices[0].as_str()})).await;
    fixture.service.wait_for(LONG, |metrics| metrics.calls(Method::PayInvoice) == 1).await.unwrap();
    fixture.service.set(|behaviour| behaviour.on(Method::PayInvoice, Conduct::Mute));
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

#[tokio::test]
async fn queued_behavior_applies_once() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    fixture.service.set(|behaviour| {
        behaviour.network = Network::Bitcoin;
        behaviour.on(Method::GetBalance, Conduct::Refuse(ErrorCode::Other));
        behaviour.once(Method::GetBalance, Conduct::Refuse(ErrorCode::RateLimited));
        behaviour.once(Method::GetBalance, Conduct::Honest);
    });
    assert_eq!(app.refused(Method::GetBalance, json!({})).await, "RATE_LIMITED");
    app.result(Method::GetBalance, json!({})).await;
    for _ in 0..2 {
        assert_eq!(app.refused(Method::GetBalance, json!({})).await, "OTHER");
    }
    assert_eq!(app.result(Method::GetInfo, json!({})).await["network"], "mainnet");
}
