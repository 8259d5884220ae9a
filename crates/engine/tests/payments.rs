//! Money in the engine: a real store, a wallet that does what a test says, and a clock turned by hand.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::wallet::invoice;
use common::{FakeWallet, NOW, Running, data, open, options, user};
use serde_json::{Value, json};
use usher_engine::operations::SubscriptionState;
use usher_engine::ports::{Clock as _, Inbound, LightningNotice};
use usher_engine::{
    EngineOptions, PayInvoiceRequest, RecurringPaymentRequest, SinglePaymentRequest, StartError, StreamId,
    SubscriptionFilter,
};
use usher_protocol::EventId;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::{
    CloseSubscription, Currency, PaymentResponse, PaymentStatus, Recurrence, RecurringResponse, RecurringStatus,
    WalletMessage,
};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The longest that something may take that takes a moment.
const PATIENCE: Duration = Duration::from_secs(30);

fn payment(subscription_id: Option<&str>, ttl: u64) -> SinglePaymentRequest {
    SinglePaymentRequest {
        main_key: user(1).public_key(),
        subkeys: Vec::new(),
        description: "Coffee".to_owned(),
        amount: 5_000,
        subscription_id: subscription_id.map(str::to_owned),
        reference: None,
        expires_at: Some(NOW.secs() + ttl),
    }
}

/// The payment of the `n`th invoice of another by our own wallet.
fn bill(n: usize) -> PayInvoiceRequest {
    PayInvoiceRequest {
        main_key: None,
        subkeys: Vec::new(),
        invoice: invoice(78, n, 5_000, NOW.secs(), 3600),
        amount: None,
        description: None,
        reference: None,
        expires_at: None,
    }
}

/// Waits in real time until it holds.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Lets so many seconds go by, one after the other, as time does.
async fn pass(usher: &Running, secs: u64) {
    for _ in 0..secs {
        usher.clock.turn(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The statuses told of a stream once there are as many as are wanted.
async fn statuses(usher: &Running, stream: StreamId, wanted: usize) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let page = usher.engine.events(stream, 0, 1000).await.unwrap();
        let told: Vec<_> =
            (0..page.events.len()).map(|n| data(&page, n)["status"].as_str().unwrap_or_default().to_owned()).collect();
        if told.len() >= wanted {
            return told;
        }
        assert!(Instant::now() < deadline, "{told:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The data of what is told of subscriptions, once there are as many as are wanted.
async fn announced(usher: &Running, wanted: usize) -> Vec<Value> {
    statuses(usher, StreamId::SUBSCRIPTIONS, wanted).await;
    let page = usher.engine.events(StreamId::SUBSCRIPTIONS, 0, 1000).await.unwrap();
    (0..page.events.len()).map(|n| data(&page, n)).collect()
}

/// The next letter of this kind, whatever is repeated in between.
async fn letter(usher: &mut Running, has: &str, not: &[String]) -> Value {
    loop {
        let (letter, _) = usher.letter().await;
        let content: Value = serde_json::from_str(&letter.content).unwrap();
        let id = content["request_id"].as_str().unwrap_or_default();
        if content.get(has).is_some() && !not.iter().any(|seen| seen == id) {
            return content;
        }
    }
}

fn request_id(letter: &Value) -> String {
    letter["request_id"].as_str().unwrap().to_owned()
}

fn says(request_id: &str, status: PaymentStatus) -> WalletMessage {
    WalletMessage::PaymentResponse(PaymentResponse { request_id: request_id.to_owned(), status })
}

/// A user agrees to a subscription of 5,000 millisats a day, the first due now.
async fn subscribe(usher: &mut Running, auto_charge: bool) {
    let recurrence =
        Recurrence { until: None, calendar: Calendar::Daily, max_payments: None, first_payment_due: NOW.secs() };
    let request = RecurringPaymentRequest {
        main_key: user(1).public_key(),
        subkeys: Vec::new(),
        description: "Membership".to_owned(),
        amount: 5_000,
        recurrence: recurrence.clone(),
        expires_at: NOW.secs() + 600,
        reference: None,
        auto_charge,
    };
    let stream = usher.engine.start_recurring_payment(request, None).await.unwrap();
    let asked = letter(usher, "recurrence", &[]).await;
    let status = RecurringStatus::Confirmed {
        subscription_id: "s".to_owned(),
        authorized_amount: 5_000,
        authorized_currency: Currency::Millisats,
        authorized_recurrence: recurrence,
    };
    let message = WalletMessage::RecurringResponse(RecurringResponse { request_id: request_id(&asked), status });
    usher.receive(250, &user(1), message).await;
    assert_eq!(statuses(usher, stream, 1).await, ["approved"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_open_invoices_cause_ten_look_ups_a_second_at_most() {
    const OPEN: usize = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    // So the first 600 are all due a minute after they were made, which is the same instant here.
    wallet.tells(true);
    let options = EngineOptions { max_open_streams: 100_000, ..options() };
    let usher = Running::start_paying(open(dir.path()), &wallet, options, NOW, 1).await;
    for n in 1..=OPEN {
        usher.engine.start_single_payment(payment(None, 80_000), None).await.unwrap();
        // Not more than the queue to the wallet holds.
        if n % 1_000 == 0 {
            until("invoices are made", || usher.engine.watched_invoices() == n).await;
        }
    }
    let begun = Instant::now();
    let (mut secs, mut seen) = (0, 0);
    while (0..OPEN).any(|n| wallet.looked_up(n) < 2) {
        usher.clock.turn(Duration::from_secs(1));
        secs += 1;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let look_ups = wallet.look_ups();
        assert!(look_ups <= 10 * (secs + 1), "{look_ups} in {secs} s");
        assert!(begun.elapsed() < 2 * PATIENCE, "{look_ups} in {secs} s");
        seen = look_ups;
    }
    assert!(seen >= 2 * 3_000);
    // Paid and told to nobody: found.
    wallet.settle(2_999);
    let before = usher.engine.watched_invoices();
    let begun = Instant::now();
    while usher.engine.watched_invoices() == before {
        usher.clock.turn(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(begun.elapsed() < PATIENCE, "it is not found");
    }
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invoices_that_are_over_hold_up_no_look_up_of_those_that_are_open() {
    const OVER: usize = 400;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeWallet::default());
    let mut usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let mut over = Vec::new();
    for _ in 0..OVER {
        over.push(usher.engine.start_single_payment(payment(None, 60), None).await.unwrap());
    }
    until("the invoices are made", || usher.engine.watched_invoices() == OVER).await;
    pass(&usher, 60).await;
    for stream in &over {
        assert_eq!(statuses(&usher, *stream, 1).await, ["timeout"]);
    }
    // However late a slow machine was to look them up while they were open.
    pass(&usher, 60).await;
    for restarted in [false, true] {
        let late = usher.engine.start_single_payment(payment(None, 80_000), None).await.unwrap();
        until("the invoice is made", || usher.engine.watched_invoices() == OVER + 1).await;
        wallet.settle(wallet.made().len() - 1);
        if restarted {
            // Paid while the service was down, and told to nobody.
            let now = usher.clock.now();
            usher.stop().await;
            usher = Running::start_paying(store.clone(), &wallet, options(), now, 2).await;
        }
        pass(&usher, 5).await;
        assert_eq!(statuses(&usher, late, 1).await, ["paid"], "within five seconds; restarted: {restarted}");
    }
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_was_ahead_holds_up_no_look_up_once_it_is_right() {
    const AHEAD: Duration = Duration::from_secs(3 * 3600);
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    usher.engine.start_single_payment(payment(None, 80_000), None).await.unwrap();
    until("the invoice is made", || usher.engine.watched_invoices() == 1).await;
    usher.clock.turn(AHEAD);
    until("it is looked up", || wallet.look_ups() > 0).await;
    usher.clock.turn_back(AHEAD);
    let stream = usher.engine.start_single_payment(payment(None, 80_000), None).await.unwrap();
    until("the invoice is made", || usher.engine.watched_invoices() == 2).await;
    wallet.settle(1);
    pass(&usher, 10).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wallet_that_can_be_heard_again_is_asked_about_all() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    wallet.tells(true);
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    let mut streams = Vec::new();
    for n in 1..=20 {
        streams.push(usher.engine.start_single_payment(payment(None, 80_000), None).await.unwrap());
        until("the invoice is made", || usher.engine.watched_invoices() == n).await;
    }
    for n in 0..20 {
        wallet.settle(n);
    }
    wallet.tell(LightningNotice::Reconnected).await;
    // A wallet that tells would be asked after a minute; now it is asked within as many seconds as it takes ten a second.
    let begun = Instant::now();
    while usher.engine.watched_invoices() > 0 {
        usher.clock.turn(Duration::from_millis(100));
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(begun.elapsed() < PATIENCE, "not all are found");
    }
    assert!(wallet.look_ups() >= 20);
    for stream in streams {
        assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    }
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_asks_for_the_invoice_again_and_shows_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeWallet::default());
    wallet.hang(true);
    let usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.start_single_payment(payment(None, 600), None).await.unwrap();
    until("the wallet makes one", || wallet.made().len() == 1).await;
    usher.stop().await;
    store.close().await;
    drop(store);

    wallet.hang(false);
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 2).await;
    let asked = letter(&mut usher, "invoice", &[]).await;
    let made = wallet.made();
    assert_eq!(
        (made.len(), asked["invoice"].as_str()),
        (2, Some(made[1].as_str())),
        "at once, and only the second is shown"
    );
    wallet.settle(1);
    usher.receive(1, &user(1), says(&request_id(&asked), PaymentStatus::Success { preimage: None })).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payees_who_hold_payments_back_keep_nobody_from_an_invoice() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    wallet.hang_pays(true);
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    for n in 0..100 {
        usher.engine.pay_invoice(bill(n), None).await.unwrap();
    }
    until("payments are under way", || wallet.sent().len() >= 32).await;
    usher.engine.start_single_payment(payment(None, 600), None).await.unwrap();
    letter(&mut usher, "invoice", &[]).await;
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_that_wait_in_line_for_too_long_are_sent_in_time_or_not_at_all() {
    for (wait, status, outcome) in [(90, "paid", None), (300, "error", Some("not_paid"))] {
        let dir = tempfile::tempdir().unwrap();
        let wallet = Arc::new(FakeWallet::default());
        wallet.hang_pays(true);
        let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
        let mut streams = Vec::new();
        for n in 0..40 {
            streams.push(usher.engine.pay_invoice(bill(n), None).await.unwrap());
        }
        until("payments are under way", || wallet.sent().len() == 32).await;
        usher.clock.turn(Duration::from_secs(wait));
        // Those under way are found by looking; of the others nothing can be found.
        until("they are looked up", || usher.engine.open_streams() == 9).await;
        wallet.hang_pays(false);
        let not_sent = || usher.engine.wallet_calls().contains(&("pay", "not_sent", 8));
        until("they are not sent", not_sent).await;
        // The clock goes slowly: they are tried again for half a minute only.
        let begun = Instant::now();
        while usher.engine.open_streams() > 1 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            usher.clock.turn(Duration::from_secs(1));
            assert!(begun.elapsed() < PATIENCE, "they do not end");
        }
        for stream in &streams[..32] {
            assert_eq!(statuses(&usher, *stream, 1).await, ["paid"]);
        }
        for stream in &streams[32..] {
            assert_eq!(statuses(&usher, *stream, 1).await, [status], "{wait}");
            let page = usher.engine.events(*stream, 0, 10).await.unwrap();
            assert_eq!(data(&page, 0).get("outcome").and_then(Value::as_str), outcome, "{wait}");
        }
        assert_eq!(wallet.asked_too_late(), 0);
        assert!(wallet.sent().iter().all(|times| *times == 1));
        usher.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_sends_no_payment_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeWallet::default());
    wallet.hang(true);
    let bill = bill(0);
    let usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    // However many ask for it at the same time.
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (engine, bill) = (usher.engine.clone(), bill.clone());
            tokio::spawn(async move { engine.pay_invoice(bill, None).await.unwrap() })
        })
        .collect();
    let mut streams = Vec::new();
    for call in calls {
        streams.push(call.await.unwrap());
    }
    streams.dedup();
    assert_eq!(streams.len(), 1, "one payment");
    until("it is sent", || wallet.sent() == [1]).await;
    usher.stop().await;
    store.close().await;
    drop(store);

    wallet.hang(false);
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 2).await;
    assert_eq!(statuses(&usher, streams[0], 1).await, ["paid"]);
    assert_eq!(usher.engine.pay_invoice(bill, None).await.unwrap(), streams[0]);
    assert_eq!(wallet.sent(), [1]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_over_takes_no_place_and_money_that_comes_late_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeWallet::default());
    let options = EngineOptions { max_open_streams: 2, ..options() };
    let usher = Running::start_paying(store.clone(), &wallet, options.clone(), NOW, 1).await;
    let mut streams = Vec::new();
    for n in 1..=2 {
        streams.push(usher.engine.start_single_payment(payment(None, 60), None).await.unwrap());
        // In their order: the wallet makes invoices side by side.
        until("the invoices are made", || usher.engine.watched_invoices() == n).await;
    }
    assert!(matches!(usher.engine.start_single_payment(payment(None, 60), None).await, Err(StartError::TooManyOpen)));
    usher.clock.turn(Duration::from_secs(60));
    for stream in &streams {
        assert_eq!(statuses(&usher, *stream, 1).await, ["timeout"]);
    }
    assert_eq!(usher.engine.watched_invoices(), 2, "somebody may still pay");
    let third = usher.engine.start_single_payment(payment(None, 600), None).await.unwrap();
    until("the invoice is made", || usher.engine.watched_invoices() == 3).await;
    usher.stop().await;
    store.close().await;
    drop(store);

    // So it is after a restart.
    let usher = Running::start_paying(open(dir.path()), &wallet, options, NOW.plus(Duration::from_secs(61)), 2).await;
    assert_eq!((usher.engine.watched_invoices(), usher.engine.open_streams()), (3, 2));
    usher.engine.start_single_payment(payment(None, 600), None).await.unwrap();
    wallet.settle(0);
    wallet.tell(LightningNotice::Reconnected).await;
    let begun = Instant::now();
    while usher.engine.events(streams[0], 0, 10).await.unwrap().events.len() < 2 {
        usher.clock.turn(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(begun.elapsed() < PATIENCE, "it is not found");
    }
    assert_eq!(statuses(&usher, streams[0], 2).await, ["timeout", "paid"]);
    assert_eq!(statuses(&usher, third, 0).await, [""; 0]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_came_after_the_end_is_told_however_long_nobody_could_look() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeWallet::default());
    let usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let mut streams = Vec::new();
    for n in 1..=2 {
        streams.push(usher.engine.start_single_payment(payment(None, 60), None).await.unwrap());
        until("the invoices are made", || usher.engine.watched_invoices() == n).await;
    }
    usher.clock.turn(Duration::from_secs(60));
    for stream in &streams {
        assert_eq!(statuses(&usher, *stream, 1).await, ["timeout"]);
    }
    usher.stop().await;
    store.close().await;
    drop(store);

    wallet.settle(0);
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW.plus(3 * DAY), 2).await;
    let begun = Instant::now();
    while usher.engine.watched_invoices() > 0 {
        usher.clock.turn(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(begun.elapsed() < PATIENCE, "both are forgotten in the end");
    }
    assert_eq!(statuses(&usher, streams[0], 1).await, ["timeout", "paid"]);
    assert_eq!(statuses(&usher, streams[1], 1).await, ["timeout"]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_of_one_subscription_at_the_same_time_are_all_counted() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, false).await;
    let mut streams = Vec::new();
    for _ in 0..40 {
        streams.push(usher.engine.start_single_payment(payment(Some("s"), 80_000), None).await.unwrap());
    }
    until("the invoices are made", || usher.engine.watched_invoices() == 40).await;
    for n in 0..40 {
        wallet.settle(n);
    }
    pass(&usher, 60).await;
    for stream in streams {
        assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    }
    assert_eq!(usher.engine.subscription("s").await.unwrap().payments_made, 40);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_charge_is_tried_after_a_day_and_three_days_more_over_restarts_and_holds_up_no_later_date() {
    const HOUR: Duration = Duration::from_secs(3600);
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, true).await;
    let mut now = NOW;
    let mut seen = Vec::new();
    // It is eight o'clock; the later dates are midnights. Only the first date is refused.
    let charges = [(0, 1, 1), (16, 2, 1), (24, 1, 2), (40, 3, 1), (64, 4, 1), (88, 5, 1), (96, 1, 3)];
    for (nth, (hours, number, attempt)) in (0_u8..).zip(charges) {
        let wait = NOW.plus(HOUR * hours).since(now);
        if !wait.is_zero() {
            // A moment before it is time nothing happens; the service is down when it is.
            usher.clock.turn(wait - Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(wallet.made().len(), usize::from(nth));
            usher.stop().await;
            now = now.plus(wait);
            usher = Running::start_paying(open(dir.path()), &wallet, options(), now, u64::from(nth) + 1).await;
        }
        let asked = letter(&mut usher, "invoice", &seen).await;
        assert_eq!(asked["subscription_id"], "s");
        seen.push(request_id(&asked));
        let status = if number == 1 {
            PaymentStatus::Rejected { reason: None }
        } else {
            wallet.settle(usize::from(nth));
            PaymentStatus::Success { preimage: None }
        };
        usher.receive(nth + 1, &user(1), says(seen.last().unwrap(), status)).await;
        let told = announced(&usher, usize::from(nth) + 1).await;
        let told = &told[usize::from(nth)];
        let said = if number == 1 { "user_rejected" } else { "paid" };
        assert_eq!(
            (&told["status"], &told["number"], &told["attempt"]),
            (&json!(said), &json!(number), &json!(attempt))
        );
        let wait = [Some(DAY), Some(3 * DAY), None][attempt - 1].filter(|_| number == 1);
        assert_eq!(told["next_attempt_at"].as_u64(), wait.map(|wait| now.plus(wait).secs()));
        assert!(number != 1 || told["due"] == NOW.secs());
    }
    let view = usher.engine.subscription("s").await.unwrap();
    assert_eq!((view.payments_made, view.state), (4, SubscriptionState::Active));
    assert!(view.next_payment_due.is_some_and(|due| due > now.secs()), "the next is in the future");
    assert_eq!(wallet.made().len(), 7, "three tries of the first, one of each other");
    let page = usher.engine.subscriptions(SubscriptionFilter::default(), None, 10).await.unwrap();
    assert_eq!(page.subscriptions, [view]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn very_many_charges_that_fall_due_at_once_hold_up_nobody_and_are_asked_for_once() {
    const MANY: usize = 1_500;
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    let options = EngineOptions { max_open_streams: 100_000, ..options() };
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options.clone(), NOW, 1).await;
    let due = NOW.plus(DAY).secs();
    let recurrence =
        Recurrence { until: None, calendar: Calendar::Monthly, max_payments: None, first_payment_due: due };
    for n in 0..MANY {
        let request = RecurringPaymentRequest {
            main_key: user(1).public_key(),
            subkeys: Vec::new(),
            description: "Membership".to_owned(),
            amount: 5_000,
            recurrence: recurrence.clone(),
            expires_at: NOW.secs() + 600,
            reference: None,
            auto_charge: true,
        };
        usher.engine.start_recurring_payment(request, None).await.unwrap();
        let asked = letter(&mut usher, "recurrence", &[]).await;
        let status = RecurringStatus::Confirmed {
            subscription_id: format!("s{n}"),
            authorized_amount: 5_000,
            authorized_currency: Currency::Millisats,
            authorized_recurrence: recurrence.clone(),
        };
        let mut id = [0; 32];
        id[..8].copy_from_slice(&(n as u64).to_be_bytes());
        let inbound = Inbound {
            event_id: EventId::from_byte_array(id),
            author: user(1).public_key(),
            created_at: NOW.secs(),
            message: WalletMessage::RecurringResponse(RecurringResponse { request_id: request_id(&asked), status }),
        };
        usher.inbox.send(inbound).await.unwrap();
    }
    let filter = SubscriptionFilter { state: Some(SubscriptionState::Active), main_key: None };
    until("all have begun", || usher.engine.open_streams() == 1 + MANY).await;
    usher.stop().await;

    // The service was down when they fell due, and its wallet is slow.
    wallet.hold(Some("Membership"));
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options, NOW.plus(2 * DAY), 2).await;
    until("all are charged", || usher.engine.open_streams() == 1 + 2 * MANY).await;
    assert!(wallet.made().len() <= 16, "the wallet is asked for {} at once", wallet.made().len());

    // A user at a checkout pays meanwhile, and the app can ask.
    let request = SinglePaymentRequest { expires_at: None, ..payment(None, 0) };
    let stream = usher.engine.start_single_payment(request, None).await.unwrap();
    let asked = letter(&mut usher, "invoice", &[]).await;
    assert_eq!(asked["description"], "Coffee");
    let made = wallet.made().len();
    wallet.settle(made - 1);
    usher.receive(1, &user(1), says(&request_id(&asked), PaymentStatus::Success { preimage: None })).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    assert_eq!(usher.engine.subscriptions(filter, None, 1000).await.unwrap().subscriptions.len(), 1000);

    // However long they wait, each is asked for once.
    for _ in 0..4 {
        usher.clock.turn(Duration::from_secs(26));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    wallet.hold(None);
    until("all have an invoice", || usher.engine.watched_invoices() == MANY).await;
    let mut made = 0;
    while std::mem::replace(&mut made, wallet.made().len()) != made {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(made <= 1 + MANY + MANY / 10, "{made} invoices for {MANY} charges");
    assert_eq!(usher.engine.open_streams(), 1 + 2 * MANY, "one charge for each");

    // Nor are the relays flooded while nobody answers.
    while usher.letters.try_recv().is_ok() {}
    pass(&usher, 60).await;
    let mut sent = 0;
    while usher.letters.try_recv().is_ok() {
        sent += 1;
    }
    assert!(sent > 0 && sent <= 2 * MANY, "{sent} repetitions in a minute");
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_has_closed_a_subscription_is_not_asked_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, true).await;
    letter(&mut usher, "invoice", &[]).await;
    usher.clock.turn(Duration::from_secs(3));
    letter(&mut usher, "invoice", &[]).await;
    let close = CloseSubscription { subscription_id: "s".to_owned(), reason: None, by_service: false };
    usher.receive(1, &user(1), WalletMessage::CloseSubscription(close)).await;
    announced(&usher, 1).await;
    // What was handed to the messenger before is in its line.
    while usher.letters.try_recv().is_ok() {}
    for _ in 0..30 {
        usher.clock.turn(Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(usher.letters.try_recv().is_err(), "the user is asked for a payment after all");
    // A wallet that pays all the same has paid.
    wallet.settle(0);
    wallet.tell(LightningNotice::Reconnected).await;
    let begun = Instant::now();
    while usher.engine.subscription("s").await.unwrap().payments_made == 0 {
        usher.clock.turn(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(begun.elapsed() < PATIENCE, "it is not counted");
    }
    assert_eq!(announced(&usher, 2).await[1]["status"], "paid");
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wallet_that_answers_nothing_holds_up_nobody_and_the_app_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeWallet::default());
    wallet.hang(true);
    let options = EngineOptions { max_open_streams: 100_000, ..options() };
    let usher = Running::start_paying(open(dir.path()), &wallet, options, NOW, 1).await;
    // More than wait in line for the wallet.
    let mut streams = Vec::new();
    for _ in 0..4_500 {
        streams.push(usher.engine.start_single_payment(payment(None, 600), None).await.unwrap());
    }
    // Those that were turned away are tried again until it is too late; those in line too.
    let begun = Instant::now();
    for stream in streams {
        while usher.engine.events(stream, 0, 10).await.unwrap().events.is_empty() {
            usher.clock.turn(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(begun.elapsed() < 2 * PATIENCE, "it does not end");
        }
        assert_eq!(statuses(&usher, stream, 1).await, ["error"]);
    }
    assert_eq!(usher.engine.open_streams(), 1);
    usher.stop().await;
}
