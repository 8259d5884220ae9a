//! The service stops at a fail point, is killed there, and starts again: the ledger is right.

use std::time::Duration;

use usher_sandbox::lightning::Method;
use usher_sandbox::wallet::Policy;
use usher_testing::lightning::{CallBehaviour, LookupLie, Memory};
use usher_testing::soak;

use super::fixture::{Fixture, invoice};
use crate::harness::{LONG, statuses};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_our_wallet_is_asked_to_pay_it_is_asked_after_the_next_start() {
    for point in ["before-prepare-payment", "after-prepare-payment", "before-pay"] {
        for memory in [Memory::Lasting, Memory::None] {
            let mut fixture = Fixture::open().await;
            fixture.wallet.set(|behaviour| {
                behaviour.memory = memory;
                behaviour.lookups = Some(LookupLie::ForgetPayments);
            });
            fixture.crash_to_stand_at(point).await;
            let payee = fixture.payee();
            let invoice = invoice(&payee, 5_000);
            let stream = fixture.pay(&invoice).await;
            fixture.killed_there().await;
            assert_eq!(fixture.pay(&invoice).await, stream);
            fixture.are_paid_once(&[(stream, invoice)]).await;
            assert_eq!((fixture.wallet.metrics().calls(Method::PayInvoice), payee.balance()), (1, 5_000), "{point}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_our_wallet_has_paid_the_outcome_is_looked_up() {
    for point in ["after-pay", "before-look-up-payment", "after-look-up-payment"] {
        let mut fixture = Fixture::open().await;
        fixture.crash_to_stand_at(point).await;
        let payee = fixture.payee();
        let invoice = invoice(&payee, 5_000);
        if point != "after-pay" {
            // Executed, but not answered as it should be: it has to be looked up.
            fixture.wallet.set(|behaviour| {
                behaviour.capabilities.notifications = false;
                behaviour.on(Method::PayInvoice, CallBehaviour::Garble);
            });
        }
        let stream = fixture.pay(&invoice).await;
        fixture.wallet.wait_for(LONG, |metrics| metrics.executed(Method::PayInvoice) == 1).await.expect("paid");
        fixture.killed_there().await;
        fixture.are_paid_once(&[(stream, invoice)]).await;
        assert_eq!((fixture.wallet.metrics().calls(Method::PayInvoice), payee.balance()), (1, 5_000), "{point}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_random_instants_under_load_the_books_are_right() {
    let mut fixture = Fixture::open().await;
    let user = fixture.user(Policy::auto_approve()).await;
    let payee = fixture.payee();
    let (mut asked, mut paying) = (Vec::new(), Vec::new());
    for round in soak::chosen(6) {
        for _ in 0..4 {
            asked.push(fixture.ask(&user, 1_000).await);
            let invoice = invoice(&payee, 2_000);
            paying.push((fixture.pay(&invoice).await, invoice));
        }
        tokio::time::sleep(Duration::from_millis(17 * round as u64)).await;
        fixture.crash().await;
    }
    for stream in &asked {
        let events = fixture.api().finished(stream).await;
        assert_eq!(statuses(&events).iter().filter(|status| **status == "paid").count(), 1, "{events:?}");
    }
    // Killed before or after it was asked, our wallet has paid each once.
    fixture.are_paid_once(&paying).await;
    assert_eq!(payee.balance(), paying.len() as u64 * 2_000);
}
