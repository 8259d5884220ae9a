//! The daily budget of the Lightning backend, over HTTP and across a kill.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::fixture::{Fixture, invoice};
use crate::harness::{Api, refusal, statuses, stream_of};

async fn is_paid(api: &Api, stream: &str) {
    assert_eq!(statuses(&api.finished(stream).await), ["paid"]);
}

/// A hundred concurrent payments with a key, and again after a kill: its budget holds, and is separate from others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_spends_no_more_than_its_budget_of_a_day() {
    let mut fixture = Fixture::open_with(|builder| builder.set("WALLET__MAX_FEE_PERCENT", 5)).await;
    let payee = fixture.payee();
    let bill = |amount: u64| json!({"invoice": invoice(&payee, amount).as_str()});
    let key = |budget: u64| json!({"name": "payer", "scopes": ["payments:send"], "daily_budget_millisats": budget});
    let (api, other) = (fixture.api_with(key(33_000)).await, fixture.api_with(key(2_000)).await);

    let (status, problem) = refusal(api.post("/invoices/pay", &bill(31_429)).await);
    assert_eq!((status, problem["errors"][0]["pointer"].as_str()), (422, Some("/invoice")), "{problem}");
    assert!(problem["errors"][0]["detail"].as_str().unwrap().contains("API key"), "{problem}");

    let bodies: Vec<_> = (0..100).map(|_| bill(1_000)).collect();
    let results = join_all(bodies.iter().map(|body| api.post("/invoices/pay", body))).await;
    let started: Vec<Value> = results.into_iter().flatten().collect();
    // Each takes its largest fee as well, which those that are over have not paid.
    assert!((1..=33).contains(&started.len()), "{}", started.len());
    for started in &started {
        is_paid(&fixture.api(), &stream_of(started)).await;
    }
    assert!(payee.balance() <= 33_000, "{}", payee.balance());
    for _ in 0..2 {
        let (status, problem) = refusal(api.post("/invoices/pay", &bill(30_000)).await);
        assert_eq!((status, problem["code"].as_str()), (429, Some("budget_exhausted")), "{problem}");
        // What was spent is known after a kill.
        fixture.crash().await;
    }
    // Others spend what is theirs.
    is_paid(&fixture.api(), &other.start("/invoices/pay", &bill(1_000)).await).await;
    is_paid(&fixture.api(), &fixture.api().start("/invoices/pay", &bill(30_000)).await).await;
    assert!(fixture.network.totals().add_up());
}
