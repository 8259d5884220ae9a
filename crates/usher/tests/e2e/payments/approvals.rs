//! Payments that wait for a second person, with a real wallet and across kills: nothing leaves before the approval, and what is approved
//! leaves once.

use std::time::Duration;

use serde_json::{Value, json};
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::{Account, InvoiceTerms, Method};
use usher_test_tools::soak;

use super::fixture::{Fixture, refused, statuses};
use crate::harness::{Api, CallError};

/// What is above this needs an approval, with a fee of five percent.
const LIMIT: u64 = 10_500;

/// A service with this limit, the interface as the app has it, and as the approver has it.
async fn stage() -> (Fixture, String, String) {
    let fixture = Fixture::open_with(|builder| builder.set("WALLET__APPROVAL_ABOVE_MILLISATS", LIMIT)).await;
    let app = key(&fixture, &["payments:send", "payments:receive", "events:read"]).await;
    let approver = key(&fixture, &["approvals"]).await;
    (fixture, app, approver)
}

async fn key(fixture: &Fixture, scopes: &[&str]) -> String {
    let created = fixture.api().post("/keys", &json!({ "name": "test", "scopes": scopes })).await.unwrap();
    created["secret"].as_str().unwrap().to_owned()
}

fn invoice(payee: &Account, amount: u64) -> Invoice {
    payee.make_invoice(&InvoiceTerms::of(amount)).unwrap()
}

async fn pay(api: &Api, invoice: &Invoice) -> String {
    let started = api.post("/invoices/pay", &json!({ "invoice": invoice.as_str() })).await.unwrap();
    started["stream_id"].as_str().unwrap().to_owned()
}

async fn decide(api: &Api, stream: &str, decision: &str) -> Result<Value, CallError> {
    api.post(&format!("/approvals/{stream}"), &json!({ "decision": decision })).await
}

async fn waiting(api: &Api) -> Vec<String> {
    let list = api.get("/approvals").await.unwrap();
    let ids = list["approvals"].as_array().unwrap().iter().map(|one| one["stream_id"].as_str().unwrap().to_owned());
    ids.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_above_the_limit_leaves_once_after_somebody_else_approves() {
    let (mut fixture, app, approver) = stage().await;
    let payee = fixture.network.open_account("payee", 0);
    let small = pay(&fixture.api_with(&app), &invoice(&payee, 10_000)).await;
    assert_eq!(statuses(&fixture.api().finished(&small).await), ["paid"], "exactly the limit is not above it");

    let large = invoice(&payee, 10_001);
    let stream = pay(&fixture.api_with(&app), &large).await;
    assert_eq!(pay(&fixture.api_with(&app), &large).await, stream);
    fixture.crash().await;
    assert_eq!(pay(&fixture.api_with(&app), &large).await, stream);
    let list = fixture.api_with(&approver).get("/approvals").await.unwrap();
    let one = &list["approvals"][0];
    assert_eq!(
        (&one["kind"], &one["amount_millisats"], &one["max_fee_millisats"]),
        (&json!("invoice"), &json!(10_001), &json!(501))
    );
    assert_eq!(one["payee"], large.payee());
    assert_eq!(one["expires_at"], large.expires_at() - 10, "so that there is time to pay it");
    assert_eq!(fixture.api().metric("usher_payments_waiting_for_approval").await, 1);
    let (events, done) = fixture.api().events(&stream).await;
    assert_eq!((statuses(&events), done), (vec!["approval_required"], false));
    let books = fixture.api().get("/payments?status=open").await.unwrap();
    assert_eq!(books["payments"][0]["stream_id"], *stream);
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1, "nothing was asked of the wallet");

    let requester =
        refused(&fixture.api_with(&app), &format!("/approvals/{stream}"), &json!({ "decision": "approve" })).await;
    assert_eq!(requester.0, 403);
    decide(&fixture.api_with(&approver), &stream, "approve").await.unwrap();
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["approval_required", "paid"]);
    fixture.crash().await;
    assert_eq!((fixture.network.executed(large.payment_hash()), payee.balance()), (1, 20_001));
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 2);
    assert_eq!(fixture.api().metric("usher_payments_waiting_for_approval").await, 0);
    assert!(fixture.network.totals().add_up());
    let verified = fixture.usher.command(&["audit", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// Approved and killed at once: what was acknowledged is approved, and everything is paid once at last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_an_approval_what_is_approved_is_paid_once() {
    let (mut fixture, app, approver) = stage().await;
    let payee = fixture.network.open_account("payee", 0);
    let (mut all, mut acknowledged) = (Vec::new(), Vec::new());
    for round in soak::chosen(6) {
        let mut streams = Vec::new();
        for _ in 0..4 {
            let bill = invoice(&payee, 11_000);
            let stream = pay(&fixture.api_with(&app), &bill).await;
            streams.push(stream.clone());
            all.push((stream, bill));
        }
        let decisions: Vec<_> = streams
            .into_iter()
            .map(|stream| {
                let api = fixture.api_with(&approver);
                tokio::spawn(async move { decide(&api, &stream, "approve").await.map(|_| stream) })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(3 * round as u64)).await;
        fixture.usher.kill();
        for decision in decisions {
            acknowledged.extend(decision.await.unwrap());
        }
        fixture.crash().await;
        let left = waiting(&fixture.api_with(&approver)).await;
        assert!(acknowledged.iter().all(|stream| !left.contains(stream)), "an approval was lost");
    }
    for stream in waiting(&fixture.api_with(&approver)).await {
        decide(&fixture.api_with(&approver), &stream, "approve").await.unwrap();
    }
    for (stream, bill) in &all {
        assert_eq!(statuses(&fixture.api().finished(stream).await), ["approval_required", "paid"]);
        assert_eq!(fixture.network.executed(bill.payment_hash()), 1);
    }
    assert_eq!(payee.balance(), 11_000 * all.len() as u64);
    assert!(fixture.network.totals().add_up());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_the_wallet_is_asked_an_approved_payment_is_paid_once() {
    for point in ["before-prepare-payment", "before-pay", "after-pay"] {
        let (mut fixture, app, approver) = stage().await;
        fixture.usher.stand_still_at(Some(point));
        fixture.crash().await;
        let payee = fixture.network.open_account("payee", 0);
        let bill = invoice(&payee, 20_000);
        let stream = pay(&fixture.api_with(&app), &bill).await;
        decide(&fixture.api_with(&approver), &stream, "approve").await.unwrap();
        tokio::time::sleep(Duration::from_millis(400)).await;
        fixture.usher.stand_still_at(None);
        fixture.crash().await;
        assert_eq!(statuses(&fixture.api().finished(&stream).await), ["approval_required", "paid"], "{point}");
        assert_eq!((fixture.network.executed(bill.payment_hash()), payee.balance()), (1, 20_000), "{point}");
    }
}
