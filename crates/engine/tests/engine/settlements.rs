//! One settlement pays one payment, whichever invoices the Lightning backend returns; failed requests are repeated.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::paying::{DAY, next_message, pass, payment, statuses, until};
use common::{FakeLightning, NOW, Running, data, open, options};
use serde_json::json;
use usher_engine::StreamId;
use usher_engine::ports::Clock as _;
use usher_engine::testing::preimage;

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
    usher.engine.payments().request(request, None).await.unwrap().stream_id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reused_invoice_is_always_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeLightning::default());
    let usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let first = ask(&usher).await;
    until("the invoice is made", || usher.engine.watched_invoices() == 1).await;
    is_refused(&usher, &wallet).await;
    wallet.settle(0);
    pass(&usher, 60).await;
    assert_eq!(statuses(&usher, first, 1).await, ["paid"]);
    is_refused(&usher, &wallet).await;
    let now = usher.clock.now();
    usher.stop().await;
    store.close().await;
    drop(store);

    let usher = Running::start_paying(open(dir.path()), &wallet, options(), now, 2).await;
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
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_settlement_notifications_are_paid_once() {
    let (usher, wallet) = Running::paying().await;
    let stream = ask(&usher).await;
    until("the invoice is made", || usher.engine.watched_invoices() == 1).await;
    wallet.settle(0);
    let hash = wallet.made()[0].payment_hash();
    let settlement = usher_engine::ports::Settlement {
        amount: Some(5_000),
        skimmed_fee: 0,
        fees_paid: 0,
        preimage: Some(preimage(0)),
    };
    for _ in 0..20 {
        wallet.tell(usher_engine::ports::LightningNotification::Settled(hash, settlement.clone())).await;
    }
    pass(&usher, 10).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panicking_request_is_repeated() {
    let (mut usher, wallet) = Running::paying().await;
    wallet.panic(2);
    let stream = ask(&usher).await;
    // Slowly: the next call is planned a moment after one has panicked.
    let asked = loop {
        match tokio::time::timeout(Duration::from_millis(50), next_message(&mut usher, "invoice", &[])).await {
            Ok(asked) => break asked,
            Err(_) => usher.clock.turn(Duration::from_secs(1)),
        }
        assert!(usher.clock.now() < NOW.plus(Duration::from_secs(300)), "no message came");
    };
    assert_eq!(made(&usher, "unknown"), 2);
    assert_eq!(asked["amount"], json!(5_000), "an invoice is made after all");
    // The same for look-ups.
    let before = wallet.look_ups();
    wallet.panic(1);
    wallet.settle(0);
    until("it is looked up", || {
        usher.clock.turn(Duration::from_secs(1));
        wallet.look_ups() > before + 1
    })
    .await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    usher.stop().await;
}

/// How many requests for invoices had this result.
fn made(usher: &Running, result: &str) -> u64 {
    let calls = usher.engine.lightning_calls();
    calls.into_iter().filter(|(call, got, _)| (*call, *got) == ("make_invoice", result)).map(|(.., times)| times).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn awaited_invoice_is_looked_up_soon_despite_notifications() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    wallet.tells(true);
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    ask(&usher).await;
    until("the invoice is made", || usher.engine.watched_invoices() == 1).await;
    for (after, times) in [(5, 1), (5, 2), (10, 3), (20, 4)] {
        usher.clock.turn(Duration::from_secs(after - 1));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(wallet.looked_up(0), times - 1, "too early");
        usher.clock.turn(Duration::from_secs(1));
        until("it is looked up", || wallet.looked_up(0) == times).await;
        // Its next look-up is reckoned from the end of this one.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn look_ups_keep_the_rate_and_new_invoices_do_not_wait() {
    const OLD: usize = 300;
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    wallet.tells(true);
    let payments = usher_engine::PaymentRules { look_ups_per_second: 4, ..options().payments };
    let options = usher_engine::EngineOptions { payments, ..options() };
    let usher = Running::start_paying(open(dir.path()), &wallet, options, NOW, 1).await;
    for _ in 0..OLD {
        usher.engine.payments().request(payment(None, 80_000), None).await.unwrap();
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
    usher.stop().await;
}
