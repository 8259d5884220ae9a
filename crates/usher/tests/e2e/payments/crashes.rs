//! The service stops at a fail point, is killed there, and starts again: the ledger is right.

use std::time::Duration;
use usher_faults::wallet::FaultyWallet;

use serde_json::json;
use usher_faults::lightning::{CallBehaviour, LookupLie, Memory};
use usher_sandbox::lightning::{InvoiceTerms, Method};
use usher_sandbox::wallet::Policy;
use usher_test_tools::soak;

use super::fixture::{Fixture, statuses};
use crate::harness::LONG;

/// Usually long enough for the service to reach the point. If it is not, the service is killed before it.
const SOON: Duration = Duration::from_millis(400);

/// Starts a service that stands still at `point`.
async fn stage_at(point: &str) -> Fixture {
    let mut fixture = Fixture::open().await;
    fixture.usher.stand_still_at(Some(point));
    fixture
}

impl Fixture {
    async fn killed_there(&mut self) {
        tokio::time::sleep(SOON).await;
        self.usher.stand_still_at(None);
        self.crash().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_settlement_comes_in() {
    let mut fixture = stage_at("settled").await;
    let user = fixture.user(Policy::silent()).await;
    fixture.crash().await;
    let stream = fixture.ask(&user, 1_000).await;
    let request = user.next_request(LONG).await.unwrap();
    user.pay_without_response(&request).await.unwrap();
    fixture.killed_there().await;
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"]);
    // Told, looked up and claimed again: it stays one.
    user.fulfil(&request).await.unwrap();
    fixture.crash().await;
    tokio::time::sleep(SOON).await;
    assert_eq!(statuses(&fixture.api().events(&stream).await.0), ["paid"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_our_wallet_is_asked_to_pay_it_is_asked_after_the_next_start() {
    for point in ["before-prepare-payment", "after-prepare-payment", "before-pay"] {
        for memory in [Memory::Lasting, Memory::None] {
            let mut fixture = stage_at(point).await;
            fixture.wallet.set(|behaviour| {
                behaviour.memory = memory;
                behaviour.lookups = Some(LookupLie::ForgetPayments);
            });
            fixture.crash().await;
            let payee = fixture.network.open_account("payee", 0);
            let invoice = payee.make_invoice(&InvoiceTerms::of(5_000)).unwrap();
            let body = json!({"invoice": invoice.as_str()});
            let stream = fixture.start("/invoices/pay", &body).await;
            fixture.killed_there().await;
            assert_eq!(fixture.start("/invoices/pay", &body).await, stream);
            assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"], "{point}");
            assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1, "{point}");
            assert_eq!((fixture.network.executed(invoice.payment_hash()), payee.balance()), (1, 5_000), "{point}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_our_wallet_has_paid_the_outcome_is_looked_up() {
    for point in ["after-pay", "before-look-up-payment", "after-look-up-payment"] {
        let mut fixture = stage_at(point).await;
        fixture.crash().await;
        let payee = fixture.network.open_account("payee", 0);
        let invoice = payee.make_invoice(&InvoiceTerms::of(5_000)).unwrap();
        if point != "after-pay" {
            // Executed, but not answered as it should be: it has to be looked up.
            fixture.wallet.set(|behaviour| {
                behaviour.notifications = false;
                behaviour.on(Method::PayInvoice, CallBehaviour::Garble);
            });
        }
        let stream = fixture.start("/invoices/pay", &json!({"invoice": invoice.as_str()})).await;
        fixture.wallet.wait_for(LONG, |metrics| metrics.executed(Method::PayInvoice) == 1).await.expect("paid");
        fixture.killed_there().await;
        let events = fixture.api().finished(&stream).await;
        assert_eq!(statuses(&events), ["paid"], "{point}");
        assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1, "{point}");
        assert_eq!((fixture.network.executed(invoice.payment_hash()), payee.balance()), (1, 5_000), "{point}");
        assert!(fixture.network.totals().add_up());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_random_instants_under_load_the_books_are_right() {
    let mut fixture = Fixture::open().await;
    let user = fixture.user(Policy::auto_approve()).await;
    let payee = fixture.network.open_account("payee", 0);
    let (mut asked, mut paying) = (Vec::new(), Vec::new());
    for round in soak::chosen(6) {
        for _ in 0..4 {
            asked.push(fixture.ask(&user, 1_000).await);
            let invoice = payee.make_invoice(&InvoiceTerms::of(2_000)).unwrap();
            let stream = fixture.start("/invoices/pay", &json!({"invoice": invoice.as_str()})).await;
            paying.push((stream, invoice));
        }
        tokio::time::sleep(Duration::from_millis(17 * round as u64)).await;
        fixture.crash().await;
    }
    for stream in &asked {
        let events = fixture.api().finished(stream).await;
        assert_eq!(statuses(&events).iter().filter(|status| **status == "paid").count(), 1, "{events:?}");
        assert!(events.iter().enumerate().all(|(index, event)| event.index == index as u64));
    }
    // Killed before or after it was asked, our wallet has paid each once.
    for (stream, invoice) in &paying {
        assert_eq!(statuses(&fixture.api().finished(stream).await), ["paid"]);
        assert_eq!(fixture.network.executed(invoice.payment_hash()), 1);
    }
    assert_eq!(payee.balance(), paying.len() as u64 * 2_000);
    assert!(fixture.network.totals().add_up());
}
