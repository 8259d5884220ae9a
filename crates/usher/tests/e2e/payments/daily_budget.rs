//! The daily budget of the Lightning backend, over HTTP and across a kill.

use serde_json::{Value, json};
use usher_sandbox::lightning::{Account, InvoiceTerms};

use super::fixture::{Fixture, statuses};
use crate::harness::CallError;

fn invoice(payee: &Account, amount: u64) -> Value {
    json!({"invoice": payee.make_invoice(&InvoiceTerms::of(amount)).unwrap().as_str()})
}

/// A hundred payments at once with a key, and again after a kill: its budget holds, and is nobody else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_spends_no_more_than_its_budget_of_a_day() {
    let mut fixture = Fixture::open_with(|builder| builder.set("WALLET__MAX_FEE_PERCENT", 5)).await;
    let payee = fixture.network.open_account("payee", 0);
    let create = async |fixture: &Fixture, budget: u64| {
        let body =
            json!({"name": "payer", "scopes": ["payments:send", "events:read"], "daily_budget_millisats": budget});
        fixture.api().post("/keys", &body).await.unwrap()["secret"].as_str().unwrap().to_owned()
    };
    let (secret, other) = (create(&fixture, 33_000).await, create(&fixture, 2_000).await);

    let api = fixture.api_with(&secret);
    let (status, problem) = refusal(api.post("/invoices/pay", &invoice(&payee, 31_429)).await);
    assert_eq!((status, problem["errors"][0]["pointer"].as_str()), (422, Some("/invoice")), "{problem}");
    assert!(problem["errors"][0]["detail"].as_str().unwrap().contains("API key"), "{problem}");

    let bodies: Vec<_> = (0..100).map(|_| invoice(&payee, 1_000)).collect();
    let results = futures_util::future::join_all(bodies.iter().map(|body| api.post("/invoices/pay", body))).await;
    let started: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
    // Each takes its largest fee as well, which those that are over have not paid.
    assert!((1..=33).contains(&started.len()), "{}", started.len());
    for answer in &started {
        let events = fixture.api().finished(answer["stream_id"].as_str().unwrap()).await;
        assert_eq!(statuses(&events), ["paid"]);
    }
    let spent = payee.balance();
    assert!(spent <= 33_000, "{spent}");
    for _ in 0..2 {
        let api = fixture.api_with(&secret);
        let (status, problem) = refusal(api.post("/invoices/pay", &invoice(&payee, 33_000 - 1_000)).await);
        assert!(matches!((status, problem["code"].as_str()), (422, _) | (429, Some("budget_exhausted"))), "{problem}");
        let (status, problem) = refusal(api.post("/invoices/pay", &invoice(&payee, 30_000)).await);
        assert_eq!((status, problem["code"].as_str()), (429, Some("budget_exhausted")), "{problem}");
        // What was spent is known after a kill.
        fixture.crash().await;
    }
    // Others spend what is theirs.
    let paid = fixture.api_with(&other).post("/invoices/pay", &invoice(&payee, 1_000)).await.unwrap();
    assert_eq!(statuses(&fixture.api().finished(paid["stream_id"].as_str().unwrap()).await), ["paid"]);
    let by_token = fixture.start("/invoices/pay", &invoice(&payee, 30_000)).await;
    assert_eq!(statuses(&fixture.api().finished(&by_token).await), ["paid"]);
    assert!(fixture.network.totals().add_up());
}

fn refusal(result: Result<Value, CallError>) -> (u16, Value) {
    match result {
        Err(CallError::Status(status, problem)) => (status, problem),
        other => panic!("it was not refused: {other:?}"),
    }
}
