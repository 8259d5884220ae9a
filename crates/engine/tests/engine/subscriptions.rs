use crate::common::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_payments_of_one_subscription_are_all_counted() {
    let (mut usher, wallet) = Running::paying().await;
    subscribe(&mut usher, false, NOW.secs()).await;
    let mut streams = Vec::new();
    for _ in 0..40 {
        streams.push(usher.request_payment(payment(Some("s"), 80_000)).await);
    }
    until("the invoices are made", async || usher.engine.watched_invoices() == 40).await;
    for n in 0..40 {
        wallet.settle(n);
    }
    pass(&usher, 60).await;
    for stream in streams {
        assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    }
    assert_eq!(usher.engine.subscriptions().view(&Requester::Service, "s").await.unwrap().payments_made, 40);
}

/// The user has authorized twelve payments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_requests_count_towards_max_payments_also_at_the_same_time() {
    let (mut usher, _wallet) = Running::paying().await;
    let (stream, agreement) = request_subscription(&mut usher, &Requester::Service, "s", false, NOW.secs()).await;
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
            tokio::spawn(async move {
                engine.payments().request(&Requester::Service, payment(Some("s"), 600), None).await.is_ok()
            })
        })
        .collect();
    let mut asked = 0;
    for ask in asks {
        asked += usize::from(ask.await.unwrap());
    }
    assert_eq!(asked, 12);
    let shop = api_key(1, |terms| terms.scopes = [Scope::PaymentsReceive].into());
    for id in ["s", "another"] {
        let refused = usher.engine.payments().request(&shop, payment(Some(id), 600), None).await;
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
    until("all have begun", async || usher.engine.open_streams() == 1 + MANY).await;

    // The service was down when they fell due, and its wallet is slow.
    wallet.hold(Some("Membership"));
    let mut usher = usher.restart(DAY * 3 / 4).await;
    until("all are charged", async || usher.engine.open_streams() == 1 + 2 * MANY).await;
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

    wallet.hold(None);
    until("all have an invoice", async || usher.engine.watched_invoices() == MANY).await;
    assert_eq!(usher.engine.open_streams(), 1 + 2 * MANY, "one charge for each");
    assert!(wallet.made().len() <= 1 + MANY + MANY / 10, "{}", wallet.made().len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn charge_whose_invoice_is_refused_is_tried_again_after_a_restart() {
    let (mut usher, wallet) = Running::paying().await;
    subscribe(&mut usher, true, NOW.secs()).await;
    until("it is charged", async || wallet.made().len() == 1).await;
    wallet.settle(0);
    usher.passing(Duration::from_secs(1), announced(&usher, 1)).await;
    wallet.hand_out_again(Some(0));
    usher.clock.turn(DAY);
    let failed = announced(&usher, 2).await.remove(1);
    assert_eq!((&failed["status"], &failed["number"], &failed["attempt"]), (&json!("error"), &json!(2), &json!(1)));
    assert!(failed["next_attempt_at"].is_u64(), "{failed}");
    wallet.hand_out_again(None);
    // When it is due again, so is the third date.
    let usher = usher.restart(DAY).await;
    for n in [1, 2] {
        until("it is charged", async || wallet.made().len() == n + 1).await;
        wallet.settle(n);
        usher.passing(Duration::from_secs(1), announced(&usher, n + 2)).await;
    }
    let mut told: Vec<_> = announced(&usher, 4).await.iter().map(|told| told["number"].as_u64()).collect();
    told.sort_unstable();
    assert_eq!(told, [1, 2, 2, 3].map(Some));
    assert_eq!(usher.engine.subscriptions().view(&Requester::Service, "s").await.unwrap().payments_made, 3);
}
