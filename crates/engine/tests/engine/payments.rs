//! Payments in the engine, with a real store, a scripted wallet and a manual clock.

use crate::common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::paying::{
    DAY, external_invoice, next_message, pass, payment, request_id, says, statuses, subscribe, until,
};
use common::{FakeLightning, NOW, Running, data, open, options, user};
use serde_json::Value;
use usher_engine::ports::{Clock as _, LightningNotification};
use usher_engine::testing::TIMEOUT;
use usher_engine::{EngineOptions, StartError};
use usher_protocol::message::PaymentStatus;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_open_invoices_cause_at_most_ten_look_ups_per_second() {
    const OPEN: usize = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    // So the first 600 are all due a minute after they were made, which is the same instant here.
    wallet.tells(true);
    let options = EngineOptions { max_open_streams: 100_000, ..options() };
    let usher = Running::start_paying(open(dir.path()), &wallet, options, NOW, 1).await;
    for n in 1..=OPEN {
        usher.engine.payments().request(payment(None, 80_000), None).await.unwrap();
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
        assert!(begun.elapsed() < TIMEOUT, "{look_ups} in {secs} s");
        seen = look_ups;
    }
    assert!(seen >= 2 * 3_000);
    // Paid without a notification: found by a look-up.
    wallet.settle(2_999);
    let before = usher.engine.watched_invoices();
    usher.until(Duration::from_secs(1), "it is not found", async || usher.engine.watched_invoices() != before).await;
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_invoices_do_not_delay_look_ups_of_open_ones() {
    const OVER: usize = 400;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeLightning::default());
    let mut usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let mut over = Vec::new();
    for _ in 0..OVER {
        over.push(usher.engine.payments().request(payment(None, 60), None).await.unwrap().stream_id);
    }
    until("the invoices are made", || usher.engine.watched_invoices() == OVER).await;
    pass(&usher, 60).await;
    for stream in &over {
        assert_eq!(statuses(&usher, *stream, 1).await, ["timeout"]);
    }
    // However late a slow machine was to look them up while they were open.
    pass(&usher, 60).await;
    for restarted in [false, true] {
        let late = usher.engine.payments().request(payment(None, 80_000), None).await.unwrap().stream_id;
        until("the invoice is made", || usher.engine.watched_invoices() == OVER + 1).await;
        wallet.settle(wallet.made().len() - 1);
        if restarted {
            // Paid while the service was down, without a notification.
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
async fn corrected_fast_clock_does_not_delay_look_ups() {
    const AHEAD: Duration = Duration::from_secs(3 * 3600);
    let (usher, wallet) = Running::paying().await;
    usher.engine.payments().request(payment(None, 80_000), None).await.unwrap();
    until("the invoice is made", || usher.engine.watched_invoices() == 1).await;
    usher.clock.turn(AHEAD);
    until("it is looked up", || wallet.look_ups() > 0).await;
    usher.clock.turn_back(AHEAD);
    let stream = usher.engine.payments().request(payment(None, 80_000), None).await.unwrap().stream_id;
    until("the invoice is made", || usher.engine.watched_invoices() == 2).await;
    wallet.settle(1);
    pass(&usher, 10).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_invoices_are_looked_up_after_a_reconnection() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    wallet.tells(true);
    let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    let mut streams = Vec::new();
    for n in 1..=20 {
        streams.push(usher.engine.payments().request(payment(None, 80_000), None).await.unwrap().stream_id);
        until("the invoice is made", || usher.engine.watched_invoices() == n).await;
    }
    for n in 0..20 {
        wallet.settle(n);
    }
    wallet.tell(LightningNotification::Reconnected).await;
    // With notifications the look-up would come after a minute; now it comes as soon as ten look-ups per second allow.
    usher.until(Duration::from_millis(100), "not all are found", async || usher.engine.watched_invoices() == 0).await;
    assert!(wallet.look_ups() >= 20);
    for stream in streams {
        assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    }
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restart_requests_the_invoice_again_and_shows_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeLightning::default());
    wallet.hang(true);
    let usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let stream = usher.engine.payments().request(payment(None, 600), None).await.unwrap().stream_id;
    until("the wallet makes one", || wallet.made().len() == 1).await;
    usher.stop().await;
    store.close().await;
    drop(store);

    wallet.hang(false);
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 2).await;
    let asked = next_message(&mut usher, "invoice", &[]).await;
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
async fn hanging_payments_do_not_delay_invoices() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    wallet.hang_pays(true);
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    for n in 0..100 {
        usher.engine.payments().pay(external_invoice(n), None).await.unwrap();
    }
    until("payments are under way", || wallet.sent().len() >= 32).await;
    usher.engine.payments().request(payment(None, 600), None).await.unwrap();
    next_message(&mut usher, "invoice", &[]).await;
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queued_payments_are_sent_in_time_or_not_at_all() {
    for (wait, waiting, status, outcome) in [(90, 8, "paid", None), (300, 0, "error", Some("not_paid"))] {
        let dir = tempfile::tempdir().unwrap();
        let wallet = Arc::new(FakeLightning::default());
        wallet.hang_pays(true);
        let usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
        let mut streams = Vec::new();
        for n in 0..40 {
            streams.push(usher.engine.payments().pay(external_invoice(n), None).await.unwrap());
        }
        until("payments are under way", || wallet.sent().len() == 32).await;
        usher.clock.turn(Duration::from_secs(wait));
        // Those under way are found by looking; the others were not sent, and are not when their time is over.
        until("they are looked up", || usher.engine.open_streams() == 1 + waiting).await;
        assert_eq!(wallet.sent().len(), 32);
        wallet.hang_pays(false);
        usher.until(Duration::from_secs(1), "they do not end", async || usher.engine.open_streams() <= 1).await;
        for stream in &streams[..32] {
            assert_eq!(statuses(&usher, *stream, 1).await, ["paid"]);
        }
        for stream in &streams[32..] {
            assert_eq!(statuses(&usher, *stream, 1).await, [status], "{wait}");
            let page = usher.engine.events().read(*stream, 0, 10).await.unwrap();
            assert_eq!(data(&page, 0).get("outcome").and_then(Value::as_str), outcome, "{wait}");
        }
        assert_eq!(wallet.paid_late(), 0);
        assert!(wallet.sent().len() == 32 + waiting && wallet.sent().iter().all(|times| *times == 1));
        usher.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_accepted_while_offline_are_sent_after_a_restart() {
    for round in 0..10 {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let wallet = Arc::new(FakeLightning::default());
        wallet.be_away(true);
        let usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
        let mut streams = Vec::new();
        for n in 0..40 {
            streams.push(usher.engine.payments().pay(external_invoice(n), None).await.unwrap());
        }
        until("it is tried", || wallet.prepared() > 0).await;
        usher.stop().await;
        store.close().await;
        drop(store);

        // Their timers are due as well: whichever comes first, the operation first gets `Resumed`.
        wallet.be_away(false);
        wallet.refuse(round % 2 == 0);
        let later = NOW.plus(Duration::from_secs(60));
        let usher = Running::start_paying(open(dir.path()), &wallet, options(), later, 2).await;
        for stream in streams {
            let page = usher.page(stream, 0).await;
            let told = data(&page, 0);
            match round % 2 {
                0 => assert_eq!((&told["status"], &told["outcome"]), (&"error".into(), &"not_paid".into())),
                _ => assert_eq!(told["status"], "paid"),
            }
        }
        assert!(wallet.sent().len() == 40 && wallet.sent().iter().all(|times| *times == 1));
        usher.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restart_never_sends_a_payment_twice() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeLightning::default());
    wallet.hang(true);
    let external_invoice = external_invoice(0);
    let usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    // However many ask for it at the same time.
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (engine, external_invoice) = (usher.engine.clone(), external_invoice.clone());
            tokio::spawn(async move { engine.payments().pay(external_invoice, None).await.unwrap() })
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
    assert_eq!(usher.engine.payments().pay(external_invoice, None).await.unwrap(), streams[0]);
    assert_eq!(wallet.sent(), [1]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ended_payments_free_their_slots_and_late_money_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeLightning::default());
    let options = EngineOptions { max_open_streams: 2, ..options() };
    let usher = Running::start_paying(store.clone(), &wallet, options.clone(), NOW, 1).await;
    let mut streams = Vec::new();
    for n in 1..=2 {
        streams.push(usher.engine.payments().request(payment(None, 60), None).await.unwrap().stream_id);
        // In their order: the wallet makes invoices side by side.
        until("the invoices are made", || usher.engine.watched_invoices() == n).await;
    }
    assert!(matches!(usher.engine.payments().request(payment(None, 60), None).await, Err(StartError::TooManyOpen)));
    usher.clock.turn(Duration::from_secs(60));
    for stream in &streams {
        assert_eq!(statuses(&usher, *stream, 1).await, ["timeout"]);
    }
    assert_eq!(usher.engine.watched_invoices(), 2, "somebody may still pay");
    let ended = usher.engine.events().read(streams[0], 0, 1000).await.unwrap();
    let a_day_later = NOW.plus(Duration::from_secs(60 + 24 * 3600));
    assert_eq!((ended.done, ended.paid_late_until), (true, Some(a_day_later)));
    assert_eq!(data(&ended, 0)["paid_late_until"], a_day_later.secs());
    let third = usher.engine.payments().request(payment(None, 600), None).await.unwrap().stream_id;
    until("the invoice is made", || usher.engine.watched_invoices() == 3).await;
    usher.stop().await;
    store.close().await;
    drop(store);

    // So it is after a restart.
    let usher = Running::start_paying(open(dir.path()), &wallet, options, NOW.plus(Duration::from_secs(61)), 2).await;
    assert_eq!((usher.engine.watched_invoices(), usher.engine.open_streams()), (3, 2));
    usher.engine.payments().request(payment(None, 600), None).await.unwrap();
    wallet.settle(0);
    wallet.tell(LightningNotification::Reconnected).await;
    assert_eq!(usher.passing(Duration::from_secs(1), statuses(&usher, streams[0], 2)).await, ["timeout", "paid"]);
    let paid = usher.engine.events().read(streams[0], 1, 1000).await.unwrap();
    assert_eq!((paid.events.len(), paid.done, paid.paid_late_until), (1, true, None));
    let polled = usher.engine.events().read(streams[1], 1, 1000).await.unwrap();
    assert!(polled.done && polled.paid_late_until.is_some_and(|until| until >= a_day_later), "{polled:?}");
    assert_eq!(statuses(&usher, third, 0).await, [""; 0]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ended_payments_in_memory_are_limited() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    let options = EngineOptions { max_open_streams: 2, ..options() };
    let usher = Running::start_paying(open(dir.path()), &wallet, options, NOW, 1).await;
    let mut ended = Vec::new();
    for round in 1..=2 {
        for n in 1..=2 {
            ended.push(usher.engine.payments().request(payment(None, 60 * round), None).await.unwrap().stream_id);
            let invoices = ended.len();
            until("the invoice is made", || usher.engine.watched_invoices() == invoices && n <= 2).await;
        }
        usher.clock.turn(Duration::from_secs(60));
        for stream in &ended {
            assert_eq!(statuses(&usher, *stream, 1).await, ["timeout"]);
        }
    }
    let refused = usher.engine.payments().request(payment(None, 600), None).await;
    assert!(matches!(refused, Err(StartError::TooManyEnded)), "{refused:?}");
    // What does not linger is not refused, nor forgotten is what does.
    usher.engine.handshakes().start(usher_engine::KeyHandshakeRequest::default(), None).await.unwrap();
    wallet.settle(0);
    wallet.settle(1);
    wallet.tell(LightningNotification::Reconnected).await;
    usher.until(Duration::from_secs(1), "it is not found", async || usher.engine.watched_invoices() <= 2).await;
    assert_eq!(statuses(&usher, ended[0], 2).await, ["timeout", "paid"]);
    // Those two are over now and free their slots.
    let now = usher_engine::ports::Clock::now(&*usher.clock).secs();
    let request = usher_engine::SinglePaymentRequest { expires_at: Some(now + 600), ..payment(None, 600) };
    usher.engine.payments().request(request, None).await.unwrap();
    usher.stop().await;
}

/// An automatic charge waits until a payment slot is free, and is then requested once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn charge_waits_for_a_payment_slot_and_is_requested_once() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    let options = EngineOptions { max_open_streams: 2, ..options() };
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options, NOW, 1).await;
    subscribe(&mut usher, true, NOW.secs() + 300).await;
    let mut ended = Vec::new();
    for n in 1..=3 {
        let now = usher_engine::ports::Clock::now(&*usher.clock).secs();
        let request = usher_engine::SinglePaymentRequest { expires_at: Some(now + 60), ..payment(None, 60) };
        ended.push(usher.engine.payments().request(request, None).await.unwrap().stream_id);
        until("the invoice is made", || usher.engine.watched_invoices() == n).await;
        usher.clock.turn(Duration::from_secs(60));
        assert_eq!(statuses(&usher, ended[n - 1], 1).await, ["timeout"]);
    }
    // The date comes, and the minutes in which it is looked at again.
    for _ in 0..10 {
        pass(&usher, 60).await;
    }
    assert_eq!((wallet.made().len(), usher.engine.watched_invoices()), (3, 3), "nothing is asked for");
    assert_eq!(usher.engine.subscriptions().view("s").await.unwrap().payments_made, 0);

    wallet.settle(0);
    wallet.tell(LightningNotification::Reconnected).await;
    usher.until(Duration::from_secs(1), "the charge is given up", async || wallet.made().len() >= 4).await;
    pass(&usher, 200).await;
    assert_eq!(wallet.made().len(), 4, "once");
    wallet.settle(3);
    wallet.tell(LightningNotification::Reconnected).await;
    usher
        .until(Duration::from_secs(1), "it is paid", async || {
            usher.engine.subscriptions().view("s").await.unwrap().payments_made != 0
        })
        .await;
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_money_is_reported_however_long_look_ups_failed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let wallet = Arc::new(FakeLightning::default());
    let usher = Running::start_paying(store.clone(), &wallet, options(), NOW, 1).await;
    let mut streams = Vec::new();
    for n in 1..=2 {
        streams.push(usher.engine.payments().request(payment(None, 60), None).await.unwrap().stream_id);
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
    usher
        .until(Duration::from_secs(1), "both are forgotten in the end", async || usher.engine.watched_invoices() == 0)
        .await;
    assert_eq!(statuses(&usher, streams[0], 1).await, ["timeout", "paid"]);
    assert_eq!(statuses(&usher, streams[1], 1).await, ["timeout"]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_backend_delays_nobody_and_the_app_gets_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    wallet.hang(true);
    let options = EngineOptions { max_open_streams: 100_000, ..options() };
    let usher = Running::start_paying(open(dir.path()), &wallet, options, NOW, 1).await;
    // More than wait in line for the wallet.
    let mut streams = Vec::new();
    for _ in 0..4_500 {
        streams.push(usher.engine.payments().request(payment(None, 600), None).await.unwrap().stream_id);
    }
    // Those that were turned away are tried again until it is too late; those in line too.
    for stream in streams {
        assert_eq!(usher.passing(Duration::from_secs(1), statuses(&usher, stream, 1)).await, ["error"]);
    }
    assert_eq!(usher.engine.open_streams(), 1);
    usher.stop().await;
}
