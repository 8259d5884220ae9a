//! The service stops at a fail point, is killed there, and starts again: the ledger is right.

use usher_sandbox::lightning::Method;
use usher_testing::lightning::{CallBehaviour, LookupLie, Memory};

use super::fixture::{Fixture, invoice};
use crate::harness::LONG;

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
