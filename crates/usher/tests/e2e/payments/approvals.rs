//! Payments that wait for a second person, with a real wallet and across kills: nothing leaves before the approval, and what is approved
//! leaves once.

use serde_json::{Value, json};
use usher_sandbox::lightning::Method;

use super::fixture::{Fixture, invoice};
use crate::harness::{refusal, statuses};

/// What is above this needs an approval, with a fee of five percent.
const LIMIT: u64 = 10_500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_above_the_limit_leaves_once_after_somebody_else_approves() {
    let mut fixture = Fixture::open_with(|builder| builder.set("WALLET__APPROVAL_ABOVE_MILLISATS", LIMIT)).await;
    let key = async |scopes: Value| fixture.api_with(json!({ "name": "test", "scopes": scopes })).await;
    let app = key(json!(["payments:send", "payments:receive", "events:read"])).await;
    let approver = key(json!(["approvals"])).await;
    let (api, payee) = (fixture.api(), fixture.payee());
    let small = fixture.pay(&invoice(&payee, 10_000)).await;
    assert_eq!(statuses(&api.finished(&small).await), ["paid"], "exactly the limit is not above it");

    let large = invoice(&payee, 10_001);
    let body = json!({ "invoice": large.as_str() });
    let stream = app.start("/invoices/pay", &body).await;
    fixture.crash().await;
    assert_eq!(app.start("/invoices/pay", &body).await, stream);
    let list = approver.get("/approvals").await.unwrap();
    let one = &list["approvals"][0];
    let amounts = (&one["kind"], &one["amount_millisats"], &one["max_fee_millisats"]);
    assert_eq!(amounts, (&json!("invoice"), &json!(10_001), &json!(501)));
    assert_eq!(one["payee"], large.payee());
    assert_eq!(one["expires_at"], large.expires_at() - 10, "so that there is time to pay it");
    assert_eq!(api.metric("usher_payments_waiting_for_approval").await, 1);
    let (events, done) = api.events(&stream).await;
    assert_eq!((statuses(&events), done), (vec!["approval_required"], false));
    assert_eq!(api.get("/payments?status=open").await.unwrap()["payments"][0]["stream_id"], *stream);
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1, "nothing was asked of the wallet");

    let (path, approve) = (format!("/approvals/{stream}"), json!({ "decision": "approve" }));
    assert_eq!(refusal(app.post(&path, &approve).await).0, 403);
    approver.post(&path, &approve).await.unwrap();
    assert_eq!(statuses(&api.finished(&stream).await), ["approval_required", "paid"]);
    fixture.crash().await;
    assert_eq!((fixture.network.executed(large.payment_hash()), payee.balance()), (1, 20_001));
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 2);
    assert_eq!(api.metric("usher_payments_waiting_for_approval").await, 0);
    fixture.usher.says(&["audit", "verify"]).await;
}
