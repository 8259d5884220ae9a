//! Subscriptions in the engine, with a real store, a scripted wallet and a manual clock.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::paying::{
    DAY, announced, next_message, pass, payment, request_id, request_subscription, says, statuses, subscribe, until,
};
use common::{FakeLightning, NOW, Running, open, options, user};
use serde_json::json;
use usher_engine::access::Scope;
use usher_engine::operations::SubscriptionState;
use usher_engine::ports::{Clock as _, Inbound, LightningNotification, Via};
use usher_engine::request_body::RequestedCurrency;
use usher_engine::testing::{COMMITS, FaultyStore};
use usher_engine::{
    EngineOptions, RecurringPaymentRequest, RequestContext, SinglePaymentRequest, StartError, StreamId,
    SubscriptionFilter,
};
use usher_protocol::EventId;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::{
    CloseSubscription, Currency, PaymentStatus, Recurrence, RecurringResponse, RecurringStatus, WalletMessage,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_payments_of_one_subscription_are_all_counted() {
    let (mut usher, wallet) = Running::paying().await;
    subscribe(&mut usher, false, NOW.secs()).await;
    let mut streams = Vec::new();
    for _ in 0..40 {
        streams.push(usher.engine.payments().request(payment(Some("s"), 80_000), None).await.unwrap().stream_id);
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
    usher.stop().await;
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
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_charge_is_retried_across_restarts_and_delays_no_later_date() {
    const HOUR: Duration = Duration::from_secs(3600);
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options(), NOW, 1).await;
    subscribe(&mut usher, true, NOW.secs()).await;
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
        let asked = next_message(&mut usher, "invoice", &seen).await;
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
    let view = usher.engine.subscriptions().view("s").await.unwrap();
    assert_eq!((view.payments_made, view.state), (4, SubscriptionState::Active));
    assert!(view.next_payment_due.is_some_and(|due| due > now.secs()), "the next is in the future");
    assert_eq!(wallet.made().len(), 7, "three tries of the first, one of each other");
    let page = usher.engine.subscriptions().list(SubscriptionFilter::default(), None, 10).await.unwrap();
    assert_eq!(page.subscriptions, [view]);
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_charges_due_at_once_delay_nobody_and_are_requested_once() {
    const MANY: usize = 1_500;
    let dir = tempfile::tempdir().unwrap();
    let wallet = Arc::new(FakeLightning::default());
    let options = EngineOptions { max_open_streams: 100_000, ..options() };
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options.clone(), NOW, 1).await;
    let due = NOW.plus(DAY / 2).secs();
    let recurrence =
        Recurrence { until: None, calendar: Calendar::Monthly, max_payments: None, first_payment_due: due };
    for n in 0..MANY {
        let request = RecurringPaymentRequest {
            main_key: user(1).public_key(),
            subkeys: Vec::new(),
            description: "Membership".to_owned(),
            amount: 5_000,
            currency: RequestedCurrency::Millisats,
            minimum_amount: None,
            max_amount_millisats: None,
            recurrence: recurrence.clone(),
            expires_at: NOW.secs() + 600,
            reference: None,
            auto_charge: true,
        };
        usher.engine.subscriptions().request(request, None).await.unwrap();
        let asked = next_message(&mut usher, "recurrence", &[]).await;
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
            via: Via::default(),
        };
        usher.inbox.send(inbound).await.unwrap();
    }
    let filter = SubscriptionFilter { state: Some(SubscriptionState::Active), main_key: None };
    until("all have begun", || usher.engine.open_streams() == 1 + MANY).await;
    usher.stop().await;

    // The service was down when they fell due, and its wallet is slow.
    wallet.hold(Some("Membership"));
    let mut usher = Running::start_paying(open(dir.path()), &wallet, options, NOW.plus(DAY * 3 / 4), 2).await;
    until("all are charged", || usher.engine.open_streams() == 1 + 2 * MANY).await;
    assert!(wallet.made().len() <= 16, "the wallet is asked for {} at once", wallet.made().len());

    // A user at a checkout can pay in the meantime, and the app can request payments.
    let request = SinglePaymentRequest { expires_at: None, ..payment(None, 0) };
    let stream = usher.engine.payments().request(request, None).await.unwrap().stream_id;
    let asked = next_message(&mut usher, "invoice", &[]).await;
    assert_eq!(asked["description"], "Coffee");
    let made = wallet.made().len();
    wallet.settle(made - 1);
    usher.receive(1, &user(1), says(&request_id(&asked), PaymentStatus::Success { preimage: None })).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    assert_eq!(usher.engine.subscriptions().list(filter, None, 1000).await.unwrap().subscriptions.len(), 1000);

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
    usher.stop().await;
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
    usher.stop().await;
}

#[tokio::test]
async fn expired_messages_are_not_looked_up_again() {
    let dir = tempfile::tempdir().unwrap();
    let sqlite = open(dir.path());
    let store = FaultyStore::on(sqlite.clone());
    let mut usher = Running::start_with(store.clone(), sqlite.clone(), None, options(), NOW, 1).await;
    subscribe(&mut usher, false, NOW.secs()).await;
    // The close is repeated to the wallet for ten minutes; the subscription can be read for a month.
    usher.engine.subscriptions().close(user(1).public_key(), "s", None).await.unwrap();
    for restarted in [false, true] {
        if restarted {
            let now = usher.clock.now();
            usher.stop().await;
            usher = Running::start_with(store.clone(), sqlite.clone(), None, options(), now, 2).await;
        }
        let quiet = async {
            let (mut reads, mut turns) = (0, 0);
            while turns < 25 {
                usher.clock.turn(Duration::from_secs(30));
                tokio::time::sleep(Duration::from_millis(5)).await;
                let now = store.calls(&["outbox"]);
                turns = if now == reads && now > 0 { turns + 1 } else { 0 };
                reads = now;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), quiet).await.expect("it is looked for without end");
    }
    usher.stop().await;
}

#[tokio::test]
async fn subscription_closed_when_due_is_not_charged() {
    let (mut usher, store, wallet) = Running::faulty_paying().await;
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
    usher.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_relays_are_kept_for_years() {
    use usher_engine::ports::Store as _;

    let (mut usher, store, _) = Running::faulty_paying().await;
    for n in [1, 2] {
        let started =
            usher.engine.handshakes().start(usher_engine::KeyHandshakeRequest::default(), None).await.unwrap();
        usher.receive(n, &user(n), common::handshake(&common::token(&started.url), &["wss://theirs"])).await;
        usher.page(started.stream_id, 0).await;
    }
    subscribe(&mut usher, true, NOW.secs() + 5 * 365 * 24 * 3600).await;
    for _ in 0..5 {
        let before = store.calls(&["keep_user_relays"]);
        usher.clock.turn(300 * DAY);
        // Once a day the cleanup marks the relays of subscribers as in use.
        while store.calls(&["keep_user_relays"]) == before {
            usher.clock.turn(Duration::from_secs(3600));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    while !store.user_relays(&user(2).public_key()).await.unwrap().is_empty() {
        usher.clock.turn(Duration::from_secs(3600));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(store.user_relays(&user(1).public_key()).await.unwrap(), ["wss://theirs"]);
    usher.stop().await;
}
