//! Users' wallets and Lightning backends that lie, are late or repeat messages.

use std::time::Duration;

use usher_faults::lightning::{CallBehaviour, InvoiceLie, LookupLie, PayLie};
use usher_faults::wallet::false_messages;
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::{InvoiceTerms, Method};
use usher_sandbox::wallet::Policy;

use super::fixture::{Fixture, statuses};
use crate::harness::LONG;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payer_who_claims_success_is_not_believed() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    for preimage in [None, Some(Preimage::from_bytes([7; 32]))] {
        let stream = fixture.ask_until(&user, 1_000, 5).await;
        let request = user.next_request(LONG).await.unwrap();
        user.send(request.from, &false_messages::claim_paid(&request, preimage)).unwrap();
        let events = fixture.api().finished(&stream).await;
        assert_eq!(statuses(&events), ["timeout"]);
    }
    assert_eq!(fixture.shop.balance(), Fixture::SHOP);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invoice_that_does_not_fit_is_shown_to_nobody() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::auto_approve()).await;
    for lie in [
        InvoiceLie::LessAmount,
        InvoiceLie::MoreAmount,
        InvoiceLie::NoAmount,
        InvoiceLie::OtherNetwork,
        InvoiceLie::Expired,
        InvoiceLie::OtherHash,
        InvoiceLie::Garbage,
    ] {
        fixture.wallet.set(|behaviour| behaviour.invoices = Some(lie));
        let stream = fixture.ask(&user, 1_000).await;
        assert_eq!(statuses(&fixture.api().finished(&stream).await), ["error"], "{lie:?}");
    }
    assert_eq!(user.requests().len(), 0, "nobody was asked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settlement_that_proves_nothing_is_not_believed() {
    let fixture = Fixture::open().await;
    fixture.wallet.set(|behaviour| {
        behaviour.notifications = false;
        behaviour.lookups = Some(LookupLie::SettledWithWrongPreimage);
    });
    let user = fixture.user(Policy::silent()).await;
    let stream = fixture.ask(&user, 1_000).await;
    let told = async {
        while fixture.api().get("/health/ready").await.unwrap()["wallet"]["warnings"][0] != "disputed_settlements" {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(LONG, told).await.expect("the operator learns of it");
    assert_eq!(statuses(&fixture.api().events(&stream).await.0), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_wallet_answers_twice_late_or_wrongly_and_pays_once() {
    let fixture = Fixture::open().await;
    let payee = fixture.network.open_account("payee", 0);
    let mut expected = 0;
    for call_behaviour in [
        CallBehaviour::Twice,
        CallBehaviour::Garble,
        CallBehaviour::Empty,
        CallBehaviour::RefuseAndExecute(usher_sandbox::lightning::ErrorCode::PaymentFailed),
    ] {
        fixture.wallet.set(|behaviour| behaviour.on(Method::PayInvoice, call_behaviour));
        let invoice = payee.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
        let stream = fixture.start("/invoices/pay", &serde_json::json!({"invoice": invoice.as_str()})).await;
        assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"], "{call_behaviour:?}");
        assert_eq!(fixture.network.executed(invoice.payment_hash()), 1, "{call_behaviour:?}");
        expected += 1;
        assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), expected, "{call_behaviour:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_wallet_pretends_to_have_paid() {
    let fixture = Fixture::open().await;
    fixture.wallet.set(|behaviour| behaviour.pays = Some(PayLie::Pretend));
    let payee = fixture.network.open_account("payee", 0);
    let invoice = payee.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
    let stream = fixture.start("/invoices/pay", &serde_json::json!({"invoice": invoice.as_str()})).await;
    fixture.wallet.wait_for(LONG, |metrics| metrics.calls(Method::LookupInvoice) >= 1).await.expect("looked up");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!statuses(&fixture.api().events(&stream).await.0).contains(&"paid"));
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1);
}
