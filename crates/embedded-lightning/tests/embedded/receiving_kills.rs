//! The process is killed at each instant of a payment to the service: the invoice is settled if and only if its payer has
//! paid, and the engine hears of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use usher_engine::ports::{Lightning as _, LightningNotification};
use usher_protocol::bolt11::Invoice;
use usher_testing::soak;

use crate::child_process;
use crate::fixture::{Fixture, LONG, assert_same_as_payer, bolt11, until, until_balance, wanted};

/// Millisats of each payment.
const AMOUNT: u64 = 5_000_000;

/// The event of the payment has been passed on, and is not acknowledged for a while: the process ends in that time.
const UNACKNOWLEDGED: &str = "before-lightning-event-handled=sleep(3000)";

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_before_the_event_is_acknowledged_repeats_it() {
    let mut fixture = Fixture::start_funded().await;
    let invoice = receive_and_kill(&mut fixture, UNACKNOWLEDGED).await;
    let settlement = fixture.settlement(&invoice).await;
    assert_eq!((settlement.amount, settlement.skimmed_fee), (Some(AMOUNT), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_each_write_of_a_payment_to_the_service() {
    let mut fixture = Fixture::start_funded().await;
    for write in soak::chosen(7) {
        let fail_point = format!("before-lightning-write={write}*off->return");
        let invoice = receive_and_kill(&mut fixture, &fail_point).await;
        assert_same_as_payer(&fixture, &invoice, &fail_point).await;
        if !fixture.has_balance(AMOUNT).await {
            // The kill closed the channel: the next round needs another.
            fixture.fund().await;
        }
    }
}

/// Lets the payer pay an invoice while the node runs in another process that ends at `fail_point`; then starts it here.
async fn receive_and_kill(fixture: &mut Fixture, fail_point: &str) -> Invoice {
    let invoice = fixture.backend.make_invoice(&wanted(AMOUNT)).await.unwrap();
    fixture.release_folder().await;
    let provider = Arc::clone(fixture.network.provider.node());
    let node_is_there = || provider.list_channels().iter().filter(|channel| channel.is_usable).count() >= 2;
    until("provider without the node", async || !node_is_there()).await;
    let has_ended = AtomicBool::new(false);
    let run = async {
        let asked = [("USHER_TEST_INVOICE", invoice.as_str().to_owned())];
        child_process::run(fixture, "receiving_kills::in_another_process", fail_point, &asked).await;
        has_ended.store(true, Ordering::Release);
    };
    let pay = async {
        until("node in the other process", async || node_is_there() || has_ended.load(Ordering::Acquire)).await;
        // If the node has ended already, there may be no route.
        let _ = fixture.network.payer.begin_payment(&bolt11(&invoice)).await;
    };
    tokio::join!(run, pay);
    fixture.start_again().await;
    invoice
}

/// Not a test: the body of the child process, without effect otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn in_another_process() {
    let Some((setup, fail_point)) = child_process::requested() else { return };
    let (backend, mut notifications) = setup.start().await;
    let ends_when_paid = fail_point == UNACKNOWLEDGED;
    let invoice: Invoice = child_process::variable("USHER_TEST_INVOICE").parse().unwrap();
    tokio::spawn(async move {
        while let Some(notification) = notifications.recv().await {
            // Earlier events repeat as well.
            let is_paid =
                matches!(notification, LightningNotification::Settled(hash, _) if hash == invoice.payment_hash());
            if ends_when_paid && is_paid {
                std::process::abort();
            }
        }
    });
    until_balance(&backend, 1).await;
    child_process::arm(&fail_point);
    // The payment arrives, and with it the fail point.
    tokio::time::sleep(2 * LONG).await;
}
