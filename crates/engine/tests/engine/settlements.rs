//! One settlement pays one payment, whichever invoices the Lightning backend returns; failed requests are repeated.

use crate::common;

use std::time::Duration;

use common::paying::{DAY, pass, payment, statuses, until};
use common::{FakeLightning, Running, data, options};
use usher_engine::StreamId;

/// The backend returns its first invoice again; the payment that requested it gets `error`.
async fn is_refused(usher: &Running, wallet: &FakeLightning) {
    wallet.hand_out_again(Some(0));
    let again = ask(usher).await;
    assert_eq!(statuses(usher, again, 1).await, ["error"]);
    assert!(
        data(&usher.engine.events().read(again, 0, 10).await.unwrap(), 0)["reason"]
            .as_str()
            .unwrap()
            .contains("invoice")
    );
    wallet.hand_out_again(None);
}

async fn ask(usher: &Running) -> StreamId {
    let request = usher_engine::SinglePaymentRequest { expires_at: None, ..payment(None, 0) };
    usher.request_payment(request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reused_invoice_is_always_refused() {
    let (usher, wallet) = Running::paying().await;
    let first = ask(&usher).await;
    until("the invoice is made", || usher.engine.watched_invoices() == 1).await;
    is_refused(&usher, &wallet).await;
    wallet.settle(0);
    pass(&usher, 60).await;
    assert_eq!(statuses(&usher, first, 1).await, ["paid"]);
    is_refused(&usher, &wallet).await;

    let usher = usher.restart(Duration::ZERO).await;
    is_refused(&usher, &wallet).await;
    // Housekeeping, and the invoice's end.
    for _ in 0..3 {
        usher.clock.turn(Duration::from_secs(3_600));
        tokio::time::sleep(Duration::from_millis(50)).await;
        is_refused(&usher, &wallet).await;
    }
    // A clock that is set back does not make it new.
    usher.clock.turn_back(Duration::from_secs(3 * 3_600));
    is_refused(&usher, &wallet).await;
    usher.clock.turn(3 * DAY);
    tokio::time::sleep(Duration::from_millis(50)).await;
    is_refused(&usher, &wallet).await;
    // A newly created invoice is as good as any.
    let another = ask(&usher).await;
    until("the invoice is made", || usher.engine.watched_invoices() == 1).await;
    wallet.settle(1);
    pass(&usher, 60).await;
    assert_eq!(statuses(&usher, another, 1).await, ["paid"]);
    assert_eq!(statuses(&usher, first, 1).await, ["paid"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn look_ups_keep_the_rate_and_new_invoices_do_not_wait() {
    const OLD: usize = 300;
    let payments = usher_engine::PaymentRules { look_ups_per_second: 4, ..options().payments };
    let (usher, wallet) = Running::paying_with(usher_engine::EngineOptions { payments, ..options() }).await;
    wallet.tells(true);
    for _ in 0..OLD {
        usher.request_payment(payment(None, 80_000)).await;
    }
    until("the invoices are made", || usher.engine.watched_invoices() == OLD).await;
    // Until every invoice has had its first look-ups.
    while (0..OLD).any(|n| wallet.looked_up(n) < 4) {
        pass(&usher, 1).await;
    }
    // All are due at once: the wallet was away.
    wallet.tell(usher_engine::ports::LightningNotification::Reconnected).await;
    pass(&usher, 5).await;
    let new = ask(&usher).await;
    until("the invoice is made", || usher.engine.watched_invoices() == OLD + 1).await;
    wallet.settle(OLD);
    let (before, mut secs) = (wallet.look_ups(), 0);
    while wallet.looked_up(OLD) == 0 {
        pass(&usher, 1).await;
        secs += 1;
        assert!(wallet.look_ups() - before <= 4 * (secs + 1), "too many in {secs} s");
        assert!(secs <= 30, "it waits for those before it");
    }
    assert_eq!(statuses(&usher, new, 1).await, ["paid"]);
}
