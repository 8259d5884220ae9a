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

use usher_sandbox::wallet::Policy;
use usher_testing::lightning::LookupLie;

pub(crate) use self::fixture::Fixture;
use self::fixture::approved_and_paid;
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
