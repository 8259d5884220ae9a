//! Requesters: a restricted key finds only its own streams, and all spending of a key counts towards its budget.

use crate::common::*;
use crate::payment_links::coffee;
use crate::tickets::{Service, keyed, mint};
use usher_engine::operations::AgeDecision;
use usher_testing::ports::MINT;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_key_has_started_does_not_exist_for_another() {
    let (mut usher, _) = Running::paying().await;
    let [one, other] = [1, 2].map(|n| api_key(n, |terms| terms.own_streams_only = true));
    let (stream, agreement) = request_subscription(&mut usher, &one, "s", false, NOW.secs()).await;
    usher.receive(1, &user(1), agreement).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["approved"]);
    let engine = Arc::clone(&usher.engine);
    let session = VerificationSessionRequest::default();
    let session = engine.verification().start(&one, session, None).await.unwrap().session_id;
    let link = engine.payment_links().create(&one, coffee(), None).await.unwrap().stream_id;
    let asked = engine.payments().request(&one, payment(Some("s"), 600), None).await.unwrap().stream_id;

    for (by, shown) in [(&other, false), (&one, true)] {
        let (payments, links, subscriptions) = (engine.payments(), engine.payment_links(), engine.subscriptions());
        let listed = [
            payments.list(by, PaymentFilter::default(), None, 9).await.unwrap().items.len(),
            links.list(by, Order::Oldest, None, 9).await.unwrap().items.len(),
            subscriptions.list(by, SubscriptionFilter::default(), Order::Newest, None, 9).await.unwrap().items.len(),
        ];
        assert_eq!(listed, [usize::from(shown); 3]);
        let refund = RefundRequest { amount: None, currency: None, expires_at: None, reference: None };
        let refunded = payments.refund(by, asked, refund, None).await.unwrap_err();
        assert!(
            matches!(refunded, RefundError::NotPaid) == shown && matches!(refunded, RefundError::NoPayment) != shown
        );
        let of_subscription = payments.request(by, payment(Some("s"), 600), None).await;
        let decided = engine.verification().decide(by, session, &AgeDecision::Approved, None).await;
        let found = [
            payments.booked(by, asked).await.unwrap().is_some(),
            subscriptions.view(by, "s").await.is_ok(),
            of_subscription.is_ok(),
            subscriptions.close(by, user(1).public_key(), "s", None).await.is_ok(),
            links.close(by, link).await.is_ok(),
            decided.is_ok(),
            engine.events().shown(by, asked).await.is_ok(),
        ];
        assert_eq!(found, [shown; 7]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budget_of_a_key_counts_payments_of_invoices_and_of_quotes_of_mints() {
    let service = Service::with(&[Part::Tickets, Part::Lightning]).await;
    let engine = &service.usher.engine;
    service.tickets.charge(5_000, &service.usher.wallet);
    let [small, limited] =
        [(1, 4_999), (2, 9_000)].map(|(n, budget)| api_key(n, |terms| terms.daily_budget_millisats = Some(budget)));
    let refused = engine.tickets().mint(&small, mint(MINT), keyed(1)).await;
    assert!(format!("{refused:?}").contains("daily_budget_millisats of the API key (4999)"), "{refused:?}");
    engine.tickets().mint(&limited, mint(MINT), keyed(2)).await.unwrap();
    let refused = engine.payments().pay(&limited, external_invoice(0), None).await;
    assert!(matches!(refused, Err(StartError::BudgetExhausted { budget: Budget::Client, .. })), "{refused:?}");
    engine.payments().pay(&api_key(3, |_| {}), external_invoice(0), None).await.unwrap();
    let usher = service.usher.restart(Duration::ZERO).await;
    let refused = usher.engine.payments().pay(&limited, external_invoice(1), None).await;
    assert!(matches!(refused, Err(StartError::BudgetExhausted { budget: Budget::Client, .. })), "{refused:?}");
}
