//! Users' wallets and Lightning backends that lie, are late or repeat messages.

use usher_protocol::message::Preimage;
use usher_sandbox::wallet::Policy;
use usher_testing::lightning::LookupLie;
use usher_testing::wallet::false_messages;

use super::fixture::Fixture;
use crate::harness::{LONG, statuses, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payer_who_claims_success_is_not_believed() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    for preimage in [None, Some(Preimage::from_bytes([7; 32]))] {
        let stream = fixture.ask_until(&user, 1_000, 5).await;
        let request = user.next_request(LONG).await.unwrap();
        user.send(request.from, &false_messages::claim_paid(&request, preimage)).unwrap();
        let events = fixture.api().finished(&stream).await;
        assert_eq!(statuses(&events), ["timeout"]);
    }
    assert_eq!(fixture.shop.balance(), Fixture::SHOP);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settlement_that_proves_nothing_is_not_believed() {
    let fixture = Fixture::open().await;
    fixture.wallet.set(|behaviour| {
        behaviour.capabilities.notifications = false;
        behaviour.lookups = Some(LookupLie::SettledWithWrongPreimage);
    });
    let user = fixture.user(Policy::silent()).await;
    let stream = fixture.ask(&user, 1_000).await;
    until("warning of the operator", async || {
        let ready = fixture.api().get("/health/ready").await.unwrap();
        (ready["wallet"]["warnings"][0] == "disputed_settlements").then_some(())
    })
    .await;
    assert_eq!(statuses(&fixture.api().events(&stream).await.0), [""; 0]);
}
