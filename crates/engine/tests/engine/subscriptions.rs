//! Subscriptions in the engine, with a real store, a scripted wallet and a manual clock.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::paying::{
    DAY, announced, next_message, pass, payment, request_id, request_subscription, says, statuses, subscribe,
    subscribe_as, until,
};
use common::{NOW, Running, user};
use usher_engine::access::Scope;
use usher_engine::ports::LightningNotification;
use usher_engine::testing::COMMITS;
use usher_engine::{RequestContext, SinglePaymentRequest, StartError, StreamId};
use usher_protocol::message::{CloseSubscription, PaymentStatus, RecurringStatus, WalletMessage};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_payments_of_one_subscription_are_all_counted() {
    let (mut usher, wallet) = Running::paying().await;
    subscribe(&mut usher, false, NOW.secs()).await;
    let mut streams = Vec::new();
    for _ in 0..40 {
        streams.push(usher.request_payment(payment(Some("s"), 80_000)).await);
    }
    until("the invoices are made", || usher.engine.watched_invoices() == 40).await;
    for n in 0..40 {
        wallet.settle(n);
    }
    pass(&usher, 60).await;
    for stream in streams {
        assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    }
    assert_eq!(usher.engine.subscriptions().view("s").await.unwrap().payments_made, 40);
}

/// The user has authorized twelve payments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_requests_count_towards_max_payments_also_at_the_same_time() {
    let (mut usher, _wallet) = Running::paying().await;
    let (stream, agreement) = request_subscription(&mut usher, "s", false, NOW.secs()).await;
    let WalletMessage::RecurringResponse(mut agreement) = agreement else { panic!("{agreement:?}") };
    let RecurringStatus::Confirmed { authorized_recurrence, .. } = &mut agreement.status else {
        panic!("{agreement:?}")
    };
    authorized_recurrence.max_payments = Some(12);
    usher.receive(250, &user(1), WalletMessage::RecurringResponse(agreement)).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["approved"]);
    let asks: Vec<_> = (0..20)
        .map(|_| {
            let engine = Arc::clone(&usher.engine);
            tokio::spawn(async move { engine.payments().request(payment(Some("s"), 600), None).await.is_ok() })
        })
        .collect();
    let mut asked = 0;
    for ask in asks {
        asked += usize::from(ask.await.unwrap());
    }
    assert_eq!(asked, 12);
    let scopes = Some([Scope::PaymentsReceive].into());
    let shop = Arc::new(RequestContext { scopes, ..RequestContext::default() });
    for id in ["s", "another"] {
        let request = usher.engine.payments().request(payment(Some(id), 600), None);
        let refused = Arc::clone(&shop).scope(request).await;
        assert!(matches!(refused, Err(StartError::ScopeMissing(Scope::Subscriptions))), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_charges_due_at_once_delay_nobody_and_are_requested_once() {
    const MANY: usize = 200;
    let (mut usher, wallet) = Running::paying().await;
    for n in 0..MANY {
        subscribe_as(&mut usher, &format!("s{n}"), u8::try_from(n).unwrap(), true, NOW.plus(DAY / 2).secs()).await;
    }
    until("all have begun", || usher.engine.open_streams() == 1 + MANY).await;

    // The service was down when they fell due, and its wallet is slow.
    wallet.hold(Some("Membership"));
    let mut usher = usher.restart(DAY * 3 / 4).await;
    until("all are charged", || usher.engine.open_streams() == 1 + 2 * MANY).await;
    assert!(wallet.made().len() <= 16, "the wallet is asked for {} at once", wallet.made().len());

    // A user at a checkout can pay in the meantime, and the app can request payments.
    let request = SinglePaymentRequest { expires_at: None, ..payment(None, 0) };
    let stream = usher.request_payment(request).await;
    let asked = next_message(&mut usher, "invoice", &[]).await;
    assert_eq!(asked["description"], "Coffee");
    let made = wallet.made().len();
    wallet.settle(made - 1);
    usher.receive(255, &user(1), says(&request_id(&asked), PaymentStatus::Success { preimage: None })).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);

    // However long they wait, each is requested once.
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

    // Nor are the relays flooded while no wallet replies.
    while usher.messages.try_recv().is_ok() {}
    pass(&usher, 60).await;
    let mut sent = 0;
    while usher.messages.try_recv().is_ok() {
        sent += 1;
    }
    assert!(sent > 0 && sent <= 2 * MANY, "{sent} repetitions in a minute");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_subscription_sends_no_more_requests() {
    let (mut usher, wallet) = Running::paying().await;
    subscribe(&mut usher, true, NOW.secs()).await;
    next_message(&mut usher, "invoice", &[]).await;
    usher.clock.turn(Duration::from_secs(21));
    next_message(&mut usher, "invoice", &[]).await;
    let close = CloseSubscription { subscription_id: "s".to_owned(), reason: None, by_service: false };
    usher.receive(1, &user(1), WalletMessage::CloseSubscription(close)).await;
    announced(&usher, 1).await;
    // Messages handed to the messenger before are in its queue.
    while usher.messages.try_recv().is_ok() {}
    for _ in 0..30 {
        usher.clock.turn(Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(usher.messages.try_recv().is_err(), "the user is asked for a payment after all");
    // A payment by a wallet that pays anyway is accepted.
    wallet.settle(0);
    wallet.tell(LightningNotification::Reconnected).await;
    usher
        .until(Duration::from_secs(1), "it is not counted", async || {
            usher.engine.subscriptions().view("s").await.unwrap().payments_made != 0
        })
        .await;
    assert_eq!(announced(&usher, 2).await[1]["status"], "paid");
}

#[tokio::test]
async fn subscription_closed_when_due_is_not_charged() {
    let (mut usher, wallet) = Running::paying().await;
    let store = usher.faults.clone();
    subscribe(&mut usher, true, NOW.secs() + 100).await;
    while usher.messages.try_recv().is_ok() {}
    // Both wait for the store, and are one step when it works again.
    wallet.hang(true);
    store.fail(COMMITS, usize::MAX);
    usher.clock.turn(Duration::from_secs(100));
    let close = CloseSubscription { subscription_id: "s".to_owned(), reason: None, by_service: false };
    usher.receive(2, &user(1), WalletMessage::CloseSubscription(close)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    store.fail(COMMITS, 0);
    usher.passing(Duration::from_secs(1), usher.events(StreamId::SUBSCRIPTIONS, 1)).await;
    wallet.hang(false);
    for _ in 0..60 {
        usher.clock.turn(Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(usher.messages.try_recv().is_err(), "the user is asked for a payment");
}
