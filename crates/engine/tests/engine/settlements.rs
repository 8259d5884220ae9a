//! One settlement pays one payment, whichever invoices the Lightning backend returns; failed requests are repeated.

use crate::common::*;

/// The backend returns its first invoice again; the payment that requested it gets `error`.
async fn is_refused(usher: &Running, wallet: &FakeLightning) {
    wallet.hand_out_again(Some(0));
    let request = SinglePaymentRequest { expires_at: None, ..payment(None, 0) };
    let again = usher.request_payment(request).await;
    let told = data(&usher.page(again, 0).await, 0);
    assert!(told["status"] == "error" && told["reason"].as_str().unwrap().contains("invoice"), "{told}");
    wallet.hand_out_again(None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reused_invoice_is_always_refused() {
    let (usher, wallet) = Running::paying().await;
    let first = usher.payment_for(600).await;
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
        a_moment().await;
        is_refused(&usher, &wallet).await;
    }
    // A clock that is set back does not make it new.
    usher.clock.turn_back(Duration::from_secs(3 * 3_600));
    is_refused(&usher, &wallet).await;
    usher.clock.turn(3 * DAY);
    a_moment().await;
    is_refused(&usher, &wallet).await;
    // A newly created invoice is as good as any.
    let another = usher.payment_for(600).await;
    wallet.settle(1);
    pass(&usher, 60).await;
    assert_eq!(statuses(&usher, another, 1).await, ["paid"]);
    assert_eq!(statuses(&usher, first, 1).await, ["paid"]);
}
