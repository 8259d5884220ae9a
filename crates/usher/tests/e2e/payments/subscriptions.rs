//! Subscriptions: agreed, charged, counted, closed.

use serde_json::{Value, json};
use usher_sandbox::wallet::{Agreement, Policy, Wallet};

use super::fixture::{Fixture, now};
use crate::harness::LONG;

fn terms(user: &Wallet, change: &Value) -> Value {
    let mut body = json!({
        "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Membership", "amount": 5_000,
        "currency": "millisats", "expires_at": now() + 120,
        "recurrence": {"calendar": "monthly", "first_payment_due": now(), "max_payments": 3},
    });
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    body
}

/// Agrees to a subscription; its id.
async fn agreed(fixture: &Fixture, user: &Wallet, body: &Value, terms: &Agreement) -> String {
    let stream = fixture.start("/payments/recurring", body).await;
    let request = user.next_request(LONG).await.expect("asked");
    user.agree(&request, terms).unwrap();
    let events = fixture.api().finished(&stream).await;
    assert_eq!((events[0].kind.as_str(), events[0].status()), ("Subscription", "approved"));
    assert_eq!(events[0].data["authorized_recurrence"]["calendar"], body["recurrence"]["calendar"], "the plain word");
    events[0].data["subscription_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_checked_against_it_counted_and_complete_it() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let other = fixture.user(Policy::silent()).await;
    let less = Agreement { amount: Some(4_000) };
    let id = agreed(&fixture, &user, &terms(&user, &json!({"minimum_amount": 4_000})), &less).await;
    let body = |user: &Wallet, amount: u64| {
        json!({
            "main_key": user.main_key().to_hex(), "subkeys": [], "description": "x", "amount": amount,
            "currency": "millisats", "subscription_id": id,
        })
    };
    for (body, pointer) in [(body(&user, 4_001), "/amount"), (body(&other, 1), "/subscription_id")] {
        let (status, problem) = fixture.refused("/payments/single", &body).await;
        assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!(pointer)));
    }
    for number in 1..=3 {
        let stream = fixture.start("/payments/single", &body(&user, 4_000)).await;
        let request = user.next_request(LONG).await.unwrap();
        user.fulfil(&request).await.unwrap();
        let events = fixture.api().finished(&stream).await;
        assert_eq!(events.last().unwrap().data["subscription_id"], id.as_str());
        let subscription = fixture.api().get(&format!("/subscriptions/{id}")).await.unwrap();
        assert_eq!(subscription["payments_made"], number);
    }
    let subscription = fixture.api().get(&format!("/subscriptions/{id}")).await.unwrap();
    assert_eq!((&subscription["state"], &subscription["authorized_amount"]), (&json!("completed"), &json!(4_000)));
    let (status, _) = fixture.refused("/payments/single", &body(&user, 4_000)).await;
    assert_eq!(status, 422, "a subscription that is over takes no payment");
    let close = json!({"main_key": other.main_key().to_hex(), "subkeys": [], "subscription_id": id});
    let (status, problem) = fixture.refused("/payments/recurring/close", &close).await;
    assert_eq!((status, &problem["code"]), (404, &json!("subscription_not_found")), "it is somebody else's");
    let list = fixture.api().get("/subscriptions?state=completed").await.unwrap();
    assert_eq!(list["subscriptions"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_charges_by_itself_once_for_each_date_across_crashes() {
    let mut fixture = Fixture::open().await;
    let user = fixture.user(Policy { auto_pay: true, ..Policy::silent() }).await;
    let recurrence = json!({"calendar": "minutely", "first_payment_due": now() - 200, "max_payments": 3});
    let body = terms(&user, &json!({"auto_charge": true, "recurrence": recurrence}));
    let id = agreed(&fixture, &user, &body, &Agreement::default()).await;
    fixture.crash().await;
    // All three dates have passed: they are charged one after the other.
    let events = fixture.api().at_least("subscriptions", 3).await;
    fixture.crash().await;
    for (number, event) in (1..).zip(&events) {
        assert_eq!(event.kind, "SubscriptionPayment");
        assert_eq!((event.status(), &event.data["number"]), ("paid", &json!(number)));
        assert!(event.data["preimage"].is_string());
    }
    let subscription = fixture.api().get(&format!("/subscriptions/{id}")).await.unwrap();
    assert_eq!((&subscription["state"], &subscription["payments_made"]), (&json!("completed"), &json!(3)));
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 15_000);
    assert_eq!(fixture.api().events("subscriptions").await.0.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_a_date_is_charged_charges_it_once() {
    for point in ["before-make-invoice", "after-make-invoice", "settled", "before-look-up-invoice"] {
        let mut fixture = Fixture::open().await;
        fixture.usher.stand_still_at(Some(point));
        fixture.crash().await;
        let user = fixture.user(Policy { auto_pay: true, ..Policy::silent() }).await;
        if point == "before-look-up-invoice" {
            fixture.wallet.set(|behaviour| behaviour.notifications = false);
        }
        let recurrence = json!({"calendar": "minutely", "first_payment_due": now() - 130, "max_payments": 2});
        let body = terms(&user, &json!({"auto_charge": true, "recurrence": recurrence}));
        let id = agreed(&fixture, &user, &body, &Agreement::default()).await;
        // Usually long enough to reach the point.
        tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        fixture.usher.stand_still_at(None);
        fixture.crash().await;
        let events = fixture.api().at_least("subscriptions", 2).await;
        let told: Vec<_> = events.iter().map(|event| (event.status(), event.data["number"].as_u64())).collect();
        assert_eq!(told, [("paid", Some(1)), ("paid", Some(2))], "{point}");
        let subscription = fixture.api().get(&format!("/subscriptions/{id}")).await.unwrap();
        assert_eq!((&subscription["state"], &subscription["payments_made"]), (&json!("completed"), &json!(2)));
        assert_eq!(fixture.shop.balance(), Fixture::SHOP + 10_000, "{point}");
        assert!(fixture.network.totals().add_up());
    }
}
