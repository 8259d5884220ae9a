//! Kills in the middle of payments: what the service reports is what was paid.

use std::time::{Duration, Instant};

use ldk_node::lightning_invoice::Bolt11Invoice;
use serde_json::{Value, json};
use usher_lightning_network::PaymentStatus;
use usher_protocol::bolt11::Invoice;
use usher_sandbox::wallet::Wallet;
use usher_test_tools::soak;

use super::fixture::{Fixture, bolt11, requested_invoice, until};

/// Millisats of each payment to the service: large enough for a channel of its own, if there is none.
const PAYMENT: u64 = 25_000_000;

/// Millisats of each payment by the service.
const PAYOUT: u64 = 1_000_000;

/// More than the miner fees of a channel that a kill closed, in millisats.
const CLOSING: u64 = 5_000_000;

/// What is lost at most by rounding to whole sats, in millisats.
const ROUNDING: u64 = 10_000;

/// Two anchor outputs, in millisats.
const ANCHORS: u64 = 660_000;

/// When the service is killed.
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
    let (worth_before, skimmed_before) = (worth(&fixture).await, skimmed_fees(&fixture).await);

    let (mut requested, mut payouts) = (Vec::new(), Vec::new());
    let moments = [KillPoint::Begun, KillPoint::UserPaid, KillPoint::ServicePaid];
    let kills = soak::chosen(10).into_iter().map(|number| Some(moments[number % moments.len()]));
    for (round, point) in (0..).zip(kills.chain([None])) {
        let stream = fixture.ask(&user, PAYMENT + round).await;
        let invoice = invoice_of(&user, PAYMENT + round).await;
        let payout_invoice = fixture.network.payer.invoice(PAYOUT + round, 3600).unwrap();
        let payout = fixture.start("/invoices/pay", &json!({"invoice": payout_invoice.to_string()})).await;
        // After a kill there may be no way to the service.
        let _ = fixture.network.payer.begin_payment(&bolt11(&invoice)).await;
        if let Some(point) = point {
            wait_for(&fixture, point, &invoice, &payout_invoice).await;
            fixture.usher.restart().await;
            fixture.until_node_runs().await;
        }
        requested.push((stream, invoice));
        payouts.push((payout, payout_invoice));
    }

    let (mut received, mut skimmed) = (0, 0);
    for (stream, invoice) in &requested {
        let outcome = outcome(&fixture, invoice).await;
        if outcome == Some(PaymentStatus::Succeeded) {
            let data = paid(&fixture, stream).await;
            let kept = data["skimmed_fee"].as_u64().unwrap_or(0);
            let amount = data["amount_received"].as_u64().unwrap_or(invoice.amount().unwrap());
            assert_eq!(amount + kept, invoice.amount().unwrap(), "{data}");
            received += amount;
            skimmed += kept;
        }
    }
    let mut sent = 0;
    for (stream, payout_invoice) in &payouts {
        let data = outcome_of_payout(&fixture, stream).await;
        assert_eq!(data["status"] == "paid", fixture.network.payer.is_paid(payout_invoice), "{data}");
        if data["status"] == "paid" {
            sent += payout_invoice.amount_milli_satoshis().unwrap() + data["fees_paid"].as_u64().unwrap();
        }
    }

    // What the node has more than before is what was reported, less the costs of closed channels.
    let expected = worth_before + received - sent;
    let mut agree = false;
    for _ in 0..20 {
        let closed = node(&fixture).await["closures"]["forced"].as_u64().unwrap();
        let (now, kept) = (worth(&fixture).await, skimmed_fees(&fixture).await);
        agree = now <= expected + ROUNDING
            && now + ROUNDING + closed * CLOSING >= expected
            && kept == skimmed_before + skimmed;
        if agree {
            break;
        }
        mine(&fixture, 30).await;
    }
    assert!(agree, "expected {expected}: {}", node(&fixture).await);

    // Each payment is reported once, and none that was not made.
    for (stream, invoice) in &requested {
        let succeeded = outcome(&fixture, invoice).await == Some(PaymentStatus::Succeeded);
        assert_eq!(times_paid(&fixture, stream).await, usize::from(succeeded));
    }
    for (stream, payout_invoice) in &payouts {
        assert_eq!(times_paid(&fixture, stream).await, usize::from(fixture.network.payer.is_paid(payout_invoice)));
    }
}

/// Waits for the moment of a kill; not for ever, because an earlier kill may have taken the way.
async fn wait_for(fixture: &Fixture, point: KillPoint, invoice: &Invoice, payout_invoice: &Bolt11Invoice) {
    let payer = &fixture.network.payer;
    for _ in 0..100 {
        let has_come = match point {
            KillPoint::Begun => true,
            KillPoint::UserPaid => payer
                .payment(*invoice.payment_hash().as_bytes())
                .is_none_or(|payment| payment.status != PaymentStatus::Pending),
            KillPoint::ServicePaid => payer.is_paid(payout_invoice),
        };
        if has_come {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
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
            Some(PaymentStatus::Pending) if round < 20 => tokio::time::sleep(Duration::from_millis(50)).await,
            Some(PaymentStatus::Pending) => mine(fixture, if round < 23 { 6 } else { 30 }).await,
            status => return status,
        }
    }
    panic!("the payer's payment does not end");
}

/// Mines, and waits until the service has seen the blocks.
async fn mine(fixture: &Fixture, blocks: usize) {
    fixture.network.mine(blocks).await.unwrap();
    let height = u64::try_from(fixture.network.chain.height()).unwrap();
    let sees = async || node(fixture).await["height"].as_u64().filter(|seen| *seen >= height);
    until("service that has seen the blocks", sees).await;
}

/// The data of the event that reports a payment.
async fn paid(fixture: &Fixture, stream: &str) -> Value {
    until("`paid` event", async || {
        let (events, _) = fixture.api().events(stream).await;
        events.into_iter().find(|event| event.status() == "paid").map(|event| event.data)
    })
    .await
}

async fn times_paid(fixture: &Fixture, stream: &str) -> usize {
    let (events, _) = fixture.api().events(stream).await;
    events.iter().filter(|event| event.status() == "paid").count()
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
            _ if round < 20 => tokio::time::sleep(Duration::from_millis(50)).await,
            _ if round < 100 => mine(fixture, if round < 23 { 6 } else { 30 }).await,
            _ => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
    panic!("the service's payment does not end");
}

async fn node(fixture: &Fixture) -> Value {
    fixture.api().get("/wallet/info").await.unwrap()["node"].clone()
}

async fn skimmed_fees(fixture: &Fixture) -> u64 {
    node(fixture).await["skimmed_fees"].as_u64().unwrap()
}

/// What the node has: in channels, on the chain, and on the way there.
async fn worth(fixture: &Fixture) -> u64 {
    let channels = fixture.api().get("/wallet/channels").await.unwrap();
    let in_channels = channels["channels"].as_array().unwrap().iter().map(|channel| {
        let amount = |name: &str| channel[name].as_u64().unwrap();
        // Neither the peer's reserve (BOLT 2) nor the anchors (BOLT 3), which it paid when it opened the channel, are in its side.
        amount("capacity") - amount("inbound") - (amount("capacity") / 100).max(1_000_000) - ANCHORS
    });
    let node = node(fixture).await;
    let amount = |value: &Value| value.as_u64().unwrap();
    in_channels.sum::<u64>() + amount(&node["on_chain"]["total"]) + amount(&node["pending"]["closing"])
}
