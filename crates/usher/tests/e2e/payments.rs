//! Payments and subscriptions: the real program, a Lightning wallet over NIP-47, and users who pay, or do otherwise.

mod approvals;
mod books;
mod crashes;
mod fixture;
mod idempotency;
mod in_currencies;
mod links;
mod notices;
mod on_the_page;
mod refunds;
mod subscriptions;

use futures_util::future::join_all;
use serde_json::json;
use usher_sandbox::lightning::Method;
use usher_sandbox::wallet::Policy;
use usher_testing::lightning::LookupLie;

pub(crate) use self::fixture::Fixture;
use self::fixture::{approved_and_paid, invoice};
use crate::harness::{LONG, statuses, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_pays_and_the_app_gets_the_proof() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let stream = fixture.ask(&user, 10_000).await;
    let request = user.next_request(LONG).await.expect("a request");
    user.fulfil(&request).await.expect("paid");
    let events = fixture.api().finished(&stream).await;
    assert!(approved_and_paid(&events), "{events:?}");
    let invoice = fixture.invoice_of(&request);
    let paid = &events.last().unwrap().data;
    assert_eq!(paid["request_id"], "order-1");
    let preimage = fixture.shop.incoming(invoice.payment_hash()).unwrap().preimage.unwrap();
    assert_eq!(paid["preimage"], preimage.to_hex());
    assert_eq!(invoice.description(), Some("Coffee"));
    assert!(fixture.network.totals().add_up());
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_invoices_are_paid_once_by_the_user_or_by_us() {
    let fixture = Fixture::open().await;
    let api = fixture.api();
    let user = fixture.user(Policy::silent()).await;
    let payee = fixture.payee();

    let bill = invoice(&payee, 5_000);
    let body = json!({"invoice": bill.as_str(), "main_key": user.main_key().to_hex(), "subkeys": []});
    let stream = api.start("/invoices/pay", &body).await;
    let request = user.next_request(LONG).await.unwrap();
    user.fulfil(&request).await.unwrap();
    assert!(approved_and_paid(&api.finished(&stream).await));
    assert_eq!(fixture.pay(&bill).await, stream);

    let invoice = invoice(&payee, 7_000);
    let body = json!({"invoice": invoice.as_str().to_uppercase(), "amount": 7_000, "request_id": "p-1"});
    let calls = join_all((0..8).map(|_| api.start("/invoices/pay", &body))).await;
    assert!(calls.iter().all(|stream| *stream == calls[0]), "{calls:?}");
    let events = api.finished(&calls[0]).await;
    assert_eq!((statuses(&events), &events[0].data["request_id"]), (vec!["paid"], &json!("p-1")));
    assert!(events[0].data["fees_paid"].is_u64());
    assert_eq!(api.start("/invoices/pay", &body).await, calls[0]);
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1);
    assert_eq!(fixture.network.executed(invoice.payment_hash()), 1);
    assert_eq!(payee.balance(), 12_000);
    assert!(fixture.network.totals().add_up());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_is_warned_of_a_backend_whose_settlements_prove_nothing() {
    let fixture = Fixture::open().await;
    fixture.wallet.set(|behaviour| {
        behaviour.capabilities.notifications = false;
        behaviour.lookups = Some(LookupLie::SettledWithWrongPreimage);
    });
    let user = fixture.user(Policy::silent()).await;
    let stream = fixture.ask(&user, 1_000).await;
    until("warning", async || {
        fixture.api().get("/health/ready").await.unwrap()["wallet"]["warnings"][0] == "disputed_settlements"
    })
    .await;
    assert_eq!(statuses(&fixture.api().events(&stream).await.0), [""; 0]);
}
