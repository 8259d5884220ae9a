use lightning_invoice::Currency as Network;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{Addressed, Currency, InvoiceRequest, InvoiceResponse};
use usher_testing::ports::{invoice_on, preimage};

use crate::common::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_invoices_are_looked_up_after_a_reconnection() {
    let (usher, wallet) = Running::paying().await;
    wallet.tells(true);
    for n in 0..20 {
        usher.payment_for(80_000).await;
        wallet.settle(n);
    }
    wallet.tell(LightningNotification::Reconnected).await;
    // With notifications the look-up would come after a minute; now it comes as soon as ten look-ups per second allow.
    usher.until(Duration::from_millis(100), "not all are found", async || usher.engine.watched_invoices() == 0).await;
    assert!(wallet.look_ups() >= 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restart_requests_the_invoice_again_and_shows_one() {
    let (usher, wallet) = Running::paying().await;
    wallet.hang(true);
    let stream = usher.request_payment(payment(None, 600)).await;
    until("the wallet makes one", async || wallet.made().len() == 1).await;
    let world = usher.end().await;
    wallet.hang(false);
    let mut usher = world.start(NOW).await;
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
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_payments_do_not_delay_invoices() {
    let (mut usher, wallet) = Running::paying().await;
    wallet.hang_pays(true);
    for n in 0..100 {
        usher.engine.payments().pay(&Requester::Service, external_invoice(n), None).await.unwrap();
    }
    until("payments are under way", async || wallet.sent().len() >= 32).await;
    usher.request_payment(payment(None, 600)).await;
    next_message(&mut usher, "invoice", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queued_payments_are_sent_in_time_or_not_at_all() {
    for (wait, waiting, status, outcome) in [(90, 8, "paid", None), (300, 0, "error", Some("not_paid"))] {
        let (usher, wallet) = Running::paying().await;
        wallet.hang_pays(true);
        let mut streams = Vec::new();
        for n in 0..40 {
            streams.push(usher.engine.payments().pay(&Requester::Service, external_invoice(n), None).await.unwrap());
        }
        until("payments are under way", async || wallet.sent().len() == 32).await;
        usher.clock.turn(Duration::from_secs(wait));
        // Those under way are found by looking; the others were not sent, and are not when their time is over.
        until("they are looked up", async || usher.engine.open_streams() == 1 + waiting).await;
        assert_eq!(wallet.sent().len(), 32);
        wallet.hang_pays(false);
        // Slowly: a payment that has been prepared is sent within a minute.
        let step = Duration::from_millis(100);
        usher.until(step, "they do not end", async || usher.engine.open_streams() <= 1).await;
        for stream in &streams[..32] {
            assert_eq!(statuses(&usher, *stream, 1).await, ["paid"]);
        }
        for stream in &streams[32..] {
            assert_eq!(statuses(&usher, *stream, 1).await, [status], "{wait}");
            let page = usher.read(*stream, 0).await;
            assert_eq!(data(&page, 0).get("outcome").and_then(Value::as_str), outcome, "{wait}");
        }
        assert_eq!(wallet.paid_late(), 0);
        assert!(wallet.sent().len() == 32 + waiting && wallet.sent().iter().all(|times| *times == 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restart_never_sends_a_payment_twice() {
    let external_invoice = external_invoice(0);
    let (usher, wallet) = Running::paying().await;
    wallet.hang(true);
    // However many ask for it at the same time.
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (engine, external_invoice) = (usher.engine.clone(), external_invoice.clone());
            tokio::spawn(
                async move { engine.payments().pay(&Requester::Service, external_invoice, None).await.unwrap() },
            )
        })
        .collect();
    let mut streams = Vec::new();
    for call in calls {
        streams.push(call.await.unwrap());
    }
    streams.dedup();
    assert_eq!(streams.len(), 1, "one payment");
    until("it is sent", async || wallet.sent() == [1]).await;
    let world = usher.end().await;
    wallet.hang(false);
    let usher = world.start(NOW).await;
    assert_eq!(statuses(&usher, streams[0], 1).await, ["paid"]);
    assert_eq!(usher.engine.payments().pay(&Requester::Service, external_invoice, None).await.unwrap(), streams[0]);
    assert_eq!(wallet.sent(), [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ended_payments_free_their_slots_and_late_money_is_reported() {
    let options = EngineOptions { max_open_streams: 2, ..options() };
    let (usher, wallet) = Running::paying_with(options).await;
    let streams = [usher.payment_for(60).await, usher.payment_for(60).await];
    assert!(matches!(
        usher.engine.payments().request(&Requester::Service, payment(None, 60), None).await,
        Err(StartError::TooManyOpen)
    ));
    usher.clock.turn(Duration::from_secs(60));
    for stream in &streams {
        assert_eq!(statuses(&usher, *stream, 1).await, ["timeout"]);
    }
    assert_eq!(usher.engine.watched_invoices(), 2, "somebody may still pay");
    let ended = usher.read(streams[0], 0).await;
    let a_day_later = NOW.plus(Duration::from_secs(60 + 24 * 3600));
    assert_eq!((ended.done, ended.paid_late_until), (true, Some(a_day_later)));
    assert_eq!(data(&ended, 0)["paid_late_until"], a_day_later.secs());
    let third = usher.payment_for(540).await;

    // So it is after a restart.
    let usher = usher.restart(Duration::from_secs(1)).await;
    assert_eq!((usher.engine.watched_invoices(), usher.engine.open_streams()), (3, 2));
    usher.request_payment(payment(None, 600)).await;
    wallet.settle(0);
    wallet.tell(LightningNotification::Reconnected).await;
    assert_eq!(usher.passing(Duration::from_secs(1), statuses(&usher, streams[0], 2)).await, ["timeout", "paid"]);
    let paid = usher.page(streams[0], 1).await;
    assert_eq!((paid.events.len(), paid.done, paid.paid_late_until), (1, true, None));
    let polled = usher.read(streams[1], 1).await;
    assert!(polled.done && polled.paid_late_until.is_some_and(|until| until >= a_day_later), "{polled:?}");
    assert_eq!(statuses(&usher, third, 0).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ended_payments_in_memory_are_limited() {
    let options = EngineOptions { max_open_streams: 2, ..options() };
    let (usher, wallet) = Running::paying_with(options).await;
    let mut ended = Vec::new();
    for _ in 0..2 {
        ended.extend([usher.payment_for(60).await, usher.payment_for(60).await]);
        usher.clock.turn(Duration::from_secs(60));
        for stream in &ended {
            assert_eq!(statuses(&usher, *stream, 1).await, ["timeout"]);
        }
    }
    let refused = usher.engine.payments().request(&Requester::Service, payment(None, 600), None).await;
    assert!(matches!(refused, Err(StartError::TooManyEnded)), "{refused:?}");
    // What does not linger is not refused, nor forgotten is what does.
    usher.handshake().await;
    wallet.settle(0);
    wallet.settle(1);
    wallet.tell(LightningNotification::Reconnected).await;
    usher.until(Duration::from_secs(1), "it is not found", async || usher.engine.watched_invoices() <= 2).await;
    assert_eq!(statuses(&usher, ended[0], 2).await, ["timeout", "paid"]);
    // Those two are over now and free their slots, and no more.
    usher.payment_for(600).await;
    assert!(matches!(
        usher.engine.payments().request(&Requester::Service, payment(None, 600), None).await,
        Err(StartError::TooManyOpen)
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn charge_waits_for_a_payment_slot_and_is_requested_once() {
    let options = EngineOptions { max_open_streams: 2, ..options() };
    let (mut usher, wallet) = Running::paying_with(options).await;
    subscribe(&mut usher, true, NOW.secs() + 300).await;
    for _ in 0..3 {
        let ended = usher.payment_for(60).await;
        usher.clock.turn(Duration::from_secs(60));
        assert_eq!(statuses(&usher, ended, 1).await, ["timeout"]);
    }
    // The date comes, and the minutes in which it is looked at again.
    for _ in 0..10 {
        pass(&usher, 60).await;
    }
    assert_eq!((wallet.made().len(), usher.engine.watched_invoices()), (3, 3), "nothing is asked for");
    assert_eq!(usher.engine.subscriptions().view(&Requester::Service, "s").await.unwrap().payments_made, 0);

    wallet.settle(0);
    wallet.tell(LightningNotification::Reconnected).await;
    usher.until(Duration::from_secs(1), "the charge is given up", async || wallet.made().len() >= 4).await;
    pass(&usher, 200).await;
    assert_eq!(wallet.made().len(), 4, "once");
    wallet.settle(3);
    wallet.tell(LightningNotification::Reconnected).await;
    usher
        .until(Duration::from_secs(1), "it is paid", async || {
            usher.engine.subscriptions().view(&Requester::Service, "s").await.unwrap().payments_made != 0
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invoices_that_cannot_be_paid_are_named_and_nothing_is_sent() {
    let rules = PaymentRules { max_amount: 21_000, ..options().payments };
    let (usher, wallet) = Running::paying_with(EngineOptions { payments: rules, ..options() }).await;
    let pay = async |request| usher.engine.payments().pay(&Requester::Service, request, None).await;
    let stream = pay(external_invoice(0)).await.unwrap();
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    let long_ago = UnixMillis(NOW.0 - 7_200_000);
    let mainnet = invoice_on(Network::Bitcoin, 78, preimage(4), 5_000, NOW.secs(), 3_600);
    for (request, wrong) in [
        (external_invoice_of(1, 21_001, NOW), "/invoice must be at most 21000"),
        (external_invoice_of(2, 5_000, long_ago), "/invoice has expired"),
        (PayInvoiceRequest { invoice: mainnet, ..external_invoice(4) }, "/invoice is for the network"),
        (PayInvoiceRequest { amount: Some(4_999), ..external_invoice(3) }, "/amount is not the invoice's"),
        // Another with the payment hash of one that was paid.
        (external_invoice_of(0, 9_000, NOW), "/invoice has the payment hash of another"),
    ] {
        let refused = pay(request).await;
        let Err(StartError::Invalid(errors)) = &refused else { panic!("{wrong}: {refused:?}") };
        let said = format!("{} {}", errors[0].pointer, errors[0].detail);
        assert!(errors.len() == 1 && said.starts_with(wrong), "{said}");
    }
    assert_eq!(pay(external_invoice(0)).await.unwrap(), stream);
    assert_eq!(wallet.sent(), [1]);
}

/// Its backend's look-up shows the invoice as paid once somebody else has paid it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_pays_no_invoice_of_its_own() {
    let (mut usher, wallet) = Running::paying().await;
    let (paid, _open) = (usher.payment_for(600).await, usher.payment_for(600).await);
    wallet.settle(0);
    assert_eq!(usher.passing(Duration::from_secs(1), statuses(&usher, paid, 1)).await, ["paid"]);
    let own = PayInvoiceRequest { invoice: wallet.made()[1].clone(), ..external_invoice(50) };
    let refused = usher.engine.payments().pay(&Requester::Service, own.clone(), None).await;
    assert!(matches!(refused, Err(StartError::Invalid(_))), "{refused:?}");

    // Nor does the payer's wallet get a refund to one.
    let refund =
        RefundRequest { amount: Some(5), currency: Some(RequestedCurrency::Sats), expires_at: None, reference: None };
    let refund = usher.engine.payments().refund(&Requester::Service, paid, refund, None).await.unwrap();
    let asked = next_message(&mut usher, "refund_invoice", &[]).await;
    let names = |invoice: &Invoice| {
        let inner = InvoiceRequest {
            request_id: request_id(&asked),
            amount: 5_000,
            currency: Currency::Millisats,
            current_exchange_rate: None,
            expires_at: NOW.secs() + 600,
            description: None,
            refund_invoice: None,
        };
        let request = Addressed { inner, main_key: user(1).public_key(), recipient: user(1).public_key() };
        WalletMessage::InvoiceResponse(InvoiceResponse { request, invoice: invoice.to_string(), payment_hash: None })
    };
    usher.receive(1, &user(1), names(&own.invoice)).await;
    assert_eq!(statuses(&usher, refund, 1).await, ["user_failed"]);
    usher.receive(2, &user(1), names(&external_invoice(50).invoice)).await;
    assert_eq!(statuses(&usher, refund, 3).await, ["user_failed", "user_approved", "paid"]);
}
