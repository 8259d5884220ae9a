//! Subscriptions: agreed, charged, counted, closed.

use serde_json::{Value, json};
use usher_sandbox::wallet::{Agreement, Policy, Wallet};

use super::fixture::Fixture;
use crate::harness::{LONG, now};

fn terms(user: &Wallet, change: &Value) -> Value {
    let mut body = json!({
        "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Membership", "amount": 5_000,
        "currency": "millisats", "expires_at": now() + 120,
        "recurrence": {"calendar": "monthly", "first_payment_due": now(), "max_payments": 3},
    });
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    body
}

/// Dates that have passed are charged by the service, one after the other.
fn charged(user: &Wallet, since: u64, count: u64) -> Value {
    let recurrence = json!({"calendar": "minutely", "first_payment_due": now() - since, "max_payments": count});
    terms(user, &json!({"auto_charge": true, "recurrence": recurrence}))
}

/// Each date was charged once, and the subscription is complete.
async fn is_charged(fixture: &Fixture, id: &str, count: usize) {
    let (events, _) = fixture.api().events("subscriptions").await;
    let told: Vec<_> = events.iter().map(|event| (&*event.kind, event.status(), &event.data["number"])).collect();
    let numbers: Vec<_> = (1..=count).map(|number| json!(number)).collect();
    assert_eq!(told, numbers.iter().map(|number| ("SubscriptionPayment", "paid", number)).collect::<Vec<_>>());
    let subscription = fixture.api().get(&format!("/subscriptions/{id}")).await.unwrap();
    assert_eq!((&subscription["state"], &subscription["payments_made"]), (&json!("completed"), &json!(count)));
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 5_000 * count as u64);
    assert!(fixture.network.totals().add_up());
}

/// Agrees to a subscription; its id.
async fn agreed(fixture: &Fixture, user: &Wallet, body: &Value, terms: &Agreement) -> String {
    let stream = fixture.api().start("/payments/recurring", body).await;
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
        let stream = fixture.api().start("/payments/single", &body(&user, 4_000)).await;
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
async fn a_kill_while_a_date_is_charged_charges_it_once() {
    for point in ["before-make-invoice", "after-make-invoice", "settled", "before-look-up-invoice"] {
        let mut fixture = Fixture::open().await;
        fixture.crash_to_stand_at(point).await;
        let user = fixture.user(Policy { auto_pay: true, ..Policy::silent() }).await;
        if point == "before-look-up-invoice" {
            fixture.wallet.set(|behaviour| behaviour.capabilities.notifications = false);
        }
        let id = agreed(&fixture, &user, &charged(&user, 130, 2), &Agreement::default()).await;
        fixture.killed_there().await;
        fixture.api().at_least("subscriptions", 2).await;
        is_charged(&fixture, &id, 2).await;
    }
}
