//! The process is killed at each instant of a payment, or cannot write: every payment ends truly, and none is paid twice.

use std::sync::Arc;

use usher_engine::ports::{
    Clock as _, Lightning as _, LightningStatus, OutgoingPaymentStatus, SignedPayment, SystemClock,
};
use usher_protocol::bolt11::Invoice;
use usher_testing::soak;

use crate::child_process;
use crate::fixture::{Fixture, LONG, bolt11, follow, invoice, until, until_balance};

/// Millisats of each payment.
const AMOUNT: u64 = 5_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_beside_the_library() {
    let mut fixture = Fixture::start_funded().await;
    for fail_point in
        ["before-lightning-send=return", "after-lightning-send=return", "before-lightning-event-handled=return"]
    {
        kill_and_check_in(&mut fixture, fail_point).await;
    }
}

/// The first writes of a payment: its record, the channel, the list of channels, the library's list of payments …
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_each_write_of_a_payment() {
    let mut fixture = Fixture::start_funded().await;
    for write in soak::chosen(6) {
        kill_and_check_in(&mut fixture, &format!("before-lightning-write={write}*off->return")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_fails_stops_the_node_and_loses_nothing() {
    let mut fixture = Fixture::start_funded().await;
    for write in [0, 2] {
        kill_and_check_in(&mut fixture, &format!("before-lightning-write={write}*off->return(fail)")).await;
    }
}

/// Pays an invoice in a process that ends at `fail_point`, then follows the payment to its end here.
async fn kill_and_check_in(fixture: &mut Fixture, fail_point: &str) {
    let invoice = invoice(&fixture.network.payer.invoice(AMOUNT, 3600).unwrap());
    let payment = fixture.backend.prepare_payment(&invoice, SystemClock.now().secs() + 3600).await.unwrap();
    fixture.release_folder().await;
    let asked = [
        ("USHER_TEST_BILL", invoice.as_str().to_owned()),
        ("USHER_TEST_PAYMENT", serde_json::to_string(&payment).unwrap()),
    ];
    child_process::run(fixture, "kills::in_another_process", fail_point, &asked).await;
    fixture.start_again().await;
    let backend = Arc::clone(&fixture.backend);

    let status = follow(fixture, &invoice, &payment, 6).await;
    let paid = fixture.network.payer.is_paid(&bolt11(&invoice));
    match status {
        OutgoingPaymentStatus::Paid(proof) => {
            assert_eq!(proof.preimage.payment_hash(), invoice.payment_hash());
            assert!(paid, "{fail_point}: paid here and not there");
        }
        OutgoingPaymentStatus::Failed => assert!(!paid, "{fail_point}: failed here and paid there"),
        OutgoingPaymentStatus::Unknown(_) => {
            assert!(!paid, "{fail_point}: not known here and paid there");
            // It was never sent: the same request pays it now.
            if fixture.has_balance(AMOUNT * 2).await {
                backend.pay(&invoice, &payment, true).await.unwrap();
                assert!(fixture.network.payer.is_paid(&bolt11(&invoice)), "{fail_point}");
            }
        }
        other => panic!("{fail_point}: {other:?}"),
    }
    if !fixture.has_balance(AMOUNT * 2).await {
        // The kill closed the channel: the next round needs another.
        fixture.fund().await;
    }
}

/// Not a test: the body of the child process, without effect otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn in_another_process() {
    let Some((setup, fail_point)) = child_process::requested() else { return };
    let (backend, mut notifications) = setup.start().await;
    let invoice: Invoice = child_process::variable("USHER_TEST_BILL").parse().unwrap();
    let payment: SignedPayment = serde_json::from_str(&child_process::variable("USHER_TEST_PAYMENT")).unwrap();
    tokio::spawn(async move { while notifications.recv().await.is_some() {} });
    until_balance(&backend, 1).await;
    child_process::arm(&fail_point);
    let paid = backend.pay(&invoice, &payment, false).await;
    if fail_point.ends_with("(fail)") {
        // No unrecorded payment: the node reports that it is broken.
        assert!(paid.is_err(), "{paid:?}");
        until("a stopped node", async || {
            backend.status() == LightningStatus { connected: false, sends_notifications: true }
        })
        .await;
        std::process::abort();
    }
    // The fail point is on the way of the events: it comes in a moment.
    tokio::time::sleep(LONG).await;
}
