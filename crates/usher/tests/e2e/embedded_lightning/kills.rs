//! Kills in the middle of payments: what the service reports is what was paid, once.

use std::time::{Duration, Instant};

use ldk_node::lightning_invoice::Bolt11Invoice;
use serde_json::{Value, json};
use usher_lightning_network::PaymentStatus;
use usher_protocol::bolt11::Invoice;
use usher_sandbox::wallet::Wallet;
use usher_testing::soak;

use super::fixture::{Fixture, bolt11, requested_invoice};
use crate::harness::until;

/// Millisats of each payment to the service: large enough for a channel of its own, if there is none.
const PAYMENT: u64 = 25_000_000;

/// Millisats of each payment by the service.
const PAYOUT: u64 = 1_000_000;

#[derive(Clone, Copy)]
enum KillPoint {
    /// Both payments have begun.
    Begun,
    /// The user's payment has ended at the payer.
    UserPaid,
    /// The service's payment has reached the payee.
    ServicePaid,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_books_agree_after_kills_in_the_middle_of_payments() {
    let mut fixture = Fixture::open().await;
    fixture.fund().await;
    let user = fixture.user().await;
    let skimmed_before = skimmed_fees(&fixture).await;
    let (mut requested, mut payouts) = (Vec::new(), Vec::new());
    let moments = [KillPoint::Begun, KillPoint::UserPaid, KillPoint::ServicePaid];
    let kills = soak::chosen(10).into_iter().map(|number| Some(moments[number % moments.len()]));
    for (round, point) in (0..).zip(kills.chain([None])) {
        let stream = fixture.ask(&user, PAYMENT + round).await;
        let invoice = invoice_of(&user, PAYMENT + round).await;
        let payout_invoice = fixture.network.payer.invoice(PAYOUT + round, 3600).unwrap();
        let payout = fixture.api().start("/invoices/pay", &json!({"invoice": payout_invoice.to_string()})).await;
        // After a kill there may be no way to the service.
        let _ = fixture.network.payer.begin_payment(&bolt11(&invoice)).await;
        if let Some(point) = point {
            wait_for(&fixture, point, &invoice, &payout_invoice).await;
            fixture.crash().await;
        }
        requested.push((stream, invoice));
        payouts.push((payout, payout_invoice));
    }

    let mut skimmed = 0;
    for (stream, invoice) in &requested {
        let succeeded = outcome(&fixture, invoice).await == Some(PaymentStatus::Succeeded);
        if succeeded {
            let data = until("`paid` event", async || paid(&fixture, stream).await.pop()).await;
            let kept = data["skimmed_fee"].as_u64().unwrap_or(0);
            let amount = data["amount_received"].as_u64().unwrap_or(invoice.amount().unwrap());
            assert_eq!(amount + kept, invoice.amount().unwrap(), "{data}");
            skimmed += kept;
        }
        assert_eq!(paid(&fixture, stream).await.len(), usize::from(succeeded));
    }
    for (stream, payout_invoice) in &payouts {
        let data = outcome_of_payout(&fixture, stream).await;
        let is_paid = fixture.network.payer.is_paid(payout_invoice);
        assert_eq!(data["status"] == "paid", is_paid, "{data}");
        assert_eq!(paid(&fixture, stream).await.len(), usize::from(is_paid));
    }
    assert_eq!(skimmed_fees(&fixture).await, skimmed_before + skimmed);
}

/// Waits for the moment of a kill; not for ever, because an earlier kill may have taken the way.
async fn wait_for(fixture: &Fixture, point: KillPoint, invoice: &Invoice, payout_invoice: &Bolt11Invoice) {
    let payer = &fixture.network.payer;
    let has_come = async || {
        let has_come = match point {
            KillPoint::Begun => true,
            KillPoint::UserPaid => payer
                .payment(*invoice.payment_hash().as_bytes())
                .is_none_or(|payment| payment.status != PaymentStatus::Pending),
            KillPoint::ServicePaid => payer.is_paid(payout_invoice),
        };
        has_come.then_some(())
    };
    let _ = tokio::time::timeout(Duration::from_secs(5), until("moment", has_come)).await;
}

/// The invoice of a request for this payment; a restarted service may have repeated earlier requests.
async fn invoice_of(user: &Wallet, amount: u64) -> Invoice {
    loop {
        let invoice = requested_invoice(user).await;
        if invoice.amount() == Some(amount) {
            return invoice;
        }
    }
}

/// How the payer's payment ended. If its channel was closed, it ends on the chain.
async fn outcome(fixture: &Fixture, invoice: &Invoice) -> Option<PaymentStatus> {
    for round in 0..200 {
        let payment = fixture.network.payer.payment(*invoice.payment_hash().as_bytes());
        match payment.map(|payment| payment.status) {
            Some(PaymentStatus::Pending) => go_on(fixture, round).await,
            status => return status,
        }
    }
    panic!("the payer's payment does not end");
}

/// The data of the last event of a payment by the service. If its channel was closed, it ends on the chain. If a kill came
/// before the library had it, it ends when it can no longer be sent: six minutes after it began.
async fn outcome_of_payout(fixture: &Fixture, stream: &str) -> Value {
    let started = Instant::now();
    for round in 0.. {
        let (events, done) = fixture.api().events(stream).await;
        match events.last() {
            Some(event) if done => return event.data.clone(),
            _ if started.elapsed() > Duration::from_secs(600) => break,
            _ if round < 100 => go_on(fixture, round).await,
            _ => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
    panic!("the service's payment does not end");
}

/// Waits a moment at first; later mines, and waits until the service has seen the blocks.
async fn go_on(fixture: &Fixture, round: usize) {
    if round < 20 {
        return tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fixture.network.mine(if round < 23 { 6 } else { 30 }).await.unwrap();
    let height = u64::try_from(fixture.network.chain.height()).unwrap();
    let sees = async || fixture.node().await["height"].as_u64().filter(|seen| *seen >= height);
    until("service that has seen the blocks", sees).await;
}

/// The data of `paid` events.
async fn paid(fixture: &Fixture, stream: &str) -> Vec<Value> {
    let (events, _) = fixture.api().events(stream).await;
    events.into_iter().filter(|event| event.status() == "paid").map(|event| event.data).collect()
}

async fn skimmed_fees(fixture: &Fixture) -> u64 {
    fixture.node().await["skimmed_fees"].as_u64().unwrap()
}
