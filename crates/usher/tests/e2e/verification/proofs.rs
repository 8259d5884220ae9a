//! Proofs of age of a real mint, for users whom staff approve.

use std::time::Duration;

use serde_json::json;

use super::fixture::Fixture;
use super::{decide, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_whom_staff_approve_gets_a_proof_that_the_app_redeems_once() {
    let fixture = Fixture::open(|builder| builder).await;
    let api = fixture.usher.api();
    let session = open(&api).await;
    decide(&api, &session, &json!({"decision": "approve"})).await;
    fixture.redeem(&session.id).await;
    let page = api.http.get(&session.url).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("You passed the check") && page.contains("You can close this page"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_killed_after_the_decision_mints_one_proof() {
    let mut fixture = Fixture::open(|builder| builder).await;
    for pause in [0, 5, 20, 60, 150] {
        let session = open(&fixture.usher.api()).await;
        decide(&fixture.usher.api(), &session, &json!({"decision": "approve"})).await;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        fixture.usher.restart().await;
        fixture.redeem(&session.id).await;
    }
    let totals = fixture.mint.totals("multi").await.unwrap();
    assert_eq!(totals.outstanding(), 5, "one proof for each session, redeemed into the service's balance");
}
