//! Approvals over HTTP: who may decide, and how one could get around a second person.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{TOKEN, TestApp, stream_of};
use crate::keys::{Answer, Holder};
use crate::lightning_node;

const ADDRESS: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

async fn start() -> TestApp {
    TestApp::with(|of| {
        of.lightning = Some(lightning_node::backend());
        of.options.payments.spending.approval_above = Some(0);
    })
    .await
}

fn token(app: &TestApp) -> Holder<'_> {
    Holder { app, id: "token".to_owned(), secret: TOKEN.to_owned() }
}

/// A payment that waits; its stream.
async fn ask(holder: &Holder<'_>) -> String {
    let answer = holder.post("/wallet/send", json!({ "address": ADDRESS, "amount": 5_000_000 })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    stream_of(&answer.body)
}

async fn decide(holder: &Holder<'_>, stream: &str, decision: &str) -> Answer {
    holder.post(&format!("/approvals/{stream}"), json!({ "decision": decision })).await
}

async fn audit(app: &TestApp) -> Vec<Value> {
    app.read("/audit?limit=1000").await["entries"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_second_key_decides_and_the_audit_log_says_who() {
    let app = start().await;
    let shop = Holder::of(&app, json!({ "scopes": ["payments:send", "events:read"] })).await;
    let approver = Holder::of(&app, json!({ "scopes": ["approvals"] })).await;
    let both = Holder::of(&app, json!({ "scopes": ["approvals", "payments:send"] })).await;
    let (first, second, third) = (ask(&shop).await, ask(&token(&app)).await, ask(&both).await);

    let list = approver.get("/approvals").await;
    let requested_by: Vec<_> =
        list.body["approvals"].as_array().unwrap().iter().map(|one| &one["requested_by"]).collect();
    assert_eq!(requested_by, [&json!(shop.id), &json!("token"), &json!(both.id)]);
    let created: Value = list.body["approvals"][0].clone();
    let expected = json!({
        "stream_id": first, "kind": "on_chain", "amount_millisats": 5_000_000, "max_fee_millisats": 282_000,
        "address": ADDRESS, "requested_by": shop.id, "key_name": "test", "requested_at": created["requested_at"],
        "expires_at": created["expires_at"],
    });
    assert_eq!(created, expected);
    let page = approver.get(&format!("/approvals?limit=1&after={first}")).await.body;
    assert_eq!((&page["approvals"][0]["stream_id"], &page["next"]), (&json!(second), &json!(second)));

    assert_eq!(shop.get("/approvals").await.code(), (403, "scope_missing"));
    assert_eq!(decide(&shop, &first, "approve").await.code(), (403, "scope_missing"));
    assert_eq!(decide(&both, &third, "approve").await.code(), (403, "own_request"));
    assert_eq!(decide(&token(&app), &second, "approve").await.code(), (403, "own_request"));
    assert_eq!(decide(&approver, &first, "allow").await.code(), (422, "invalid_request"));
    for none in ["nonsense", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11"] {
        assert_eq!(decide(&approver, none, "approve").await.code(), (404, "approval_not_found"), "{none}");
    }
    let before = audit(&app).await.len();
    let approved = decide(&approver, &first, "approve").await;
    assert_eq!((approved.status, approved.body), (200, json!({ "stream_id": first, "decision": "approve" })));
    assert_eq!(decide(&approver, &first, "approve").await.code(), (404, "approval_not_found"));
    assert_eq!(decide(&both, &second, "approve").await.status, 200);
    assert_eq!(decide(&both, &third, "decline").await.status, 200, "one's own can be declined");

    let entries = audit(&app).await;
    let said = ["actor", "action", "outcome"].map(|name| entries[before..].iter().map(move |entry| &entry[name]));
    let [actors, actions, outcomes] = said.map(Iterator::collect::<Vec<_>>);
    assert_eq!(actors, [&*approver.id, &both.id, &both.id]);
    assert!(actions == ["decideApproval"; 3] && outcomes == ["ok"; 3], "{actions:?} {outcomes:?}");
    let details = |nth: usize| entries[before + nth]["details"].clone();
    assert_eq!([0, 1, 2].map(|nth| details(nth)["decision"].clone()), ["approve", "approve", "decline"]);
    assert_eq!(details(0)["stream_id"], json!(first));
    let refused = |entry: &&Value| entry["outcome"] == "own_request";
    assert_eq!(entries.iter().filter(refused).count(), 2, "attempts to approve one's own are recorded");

    let events = shop.get(&format!("/events/{third}")).await.body["events"].clone();
    let statuses: Vec<_> = events.as_array().unwrap().iter().map(|event| &event["data"]["status"]).collect();
    assert_eq!(statuses, ["approval_required", "error"]);
    assert!(!events.to_string().contains(&both.id), "the stream does not name who decided");
}

#[tokio::test]
async fn keys_that_see_only_their_streams_and_former_secrets_approve_nothing() {
    let app = start().await;
    let stream = ask(&token(&app)).await;
    let own = Holder::of(&app, json!({ "scopes": ["approvals"], "own_streams_only": true })).await;
    assert_eq!(own.get("/approvals").await.code(), (403, "own_streams_only"));
    assert_eq!(decide(&own, &stream, "approve").await.code(), (403, "own_streams_only"));

    let old = Holder::of(&app, json!({ "scopes": ["approvals"] })).await;
    let path = format!("/keys/{}/rotate", old.id);
    let rotated = token(&app).post(&path, json!({ "overlap_seconds": 60 })).await.body;
    let new = Holder { app: &app, id: old.id.clone(), secret: rotated["secret"].as_str().unwrap().to_owned() };
    assert_eq!(old.get("/approvals").await.status, 200);
    assert_eq!(decide(&old, &stream, "approve").await.code(), (422, "invalid_request"));
    assert_eq!(decide(&new, &stream, "approve").await.status, 200);
    app.clock.turn(Duration::from_secs(60));
    assert_eq!(old.get("/approvals").await.status, 401);
}

#[tokio::test]
async fn no_key_creates_rotates_or_revokes_one_that_approves() {
    let app = start().await;
    let admin = Holder::of(&app, json!({ "scopes": ["admin", "payments:send"] })).await;
    let approver = Holder::of(&app, json!({ "scopes": ["approvals", "payments:send"] })).await;
    for scopes in [json!(["approvals"]), json!(["approvals", "payments:send"]), json!(["admin", "approvals"])] {
        let answer = admin.post("/keys", json!({ "name": "x", "scopes": scopes })).await;
        assert_eq!(answer.code(), (422, "invalid_request"));
        assert_eq!(answer.body["errors"][0]["pointer"], "/scopes");
    }
    // It could ask with a key of its own making, and approve that.
    let answer = token(&app).post("/keys", json!({ "name": "x", "scopes": ["admin", "approvals"] })).await;
    assert_eq!(answer.code(), (422, "invalid_request"));
    assert!(answer.body["errors"][0]["detail"].as_str().unwrap().contains("approvals and admin"), "{}", answer.body);
    assert_eq!(admin.post(&format!("/keys/{}/rotate", approver.id), json!({})).await.code(), (422, "invalid_request"));
    assert_eq!(admin.delete(&format!("/keys/{}", approver.id)).await.code(), (422, "invalid_request"));
    assert_eq!(approver.get("/approvals").await.status, 200, "it was neither rotated nor revoked");
    for (method, path) in [(Method::POST, "/keys"), (Method::GET, "/keys")] {
        assert_eq!(Answer::of(approver.request(method, path)).await.code(), (403, "scope_missing"));
    }
    // A key's request stays that key's when it is rotated.
    let stream = ask(&approver).await;
    let rotated = token(&app).post(&format!("/keys/{}/rotate", approver.id), json!({})).await.body;
    let again = Holder { app: &app, id: approver.id.clone(), secret: rotated["secret"].as_str().unwrap().to_owned() };
    assert_eq!(decide(&again, &stream, "approve").await.code(), (403, "own_request"));
    assert_eq!(decide(&token(&app), &stream, "approve").await.status, 200);
}

#[tokio::test]
async fn the_previous_token_neither_decides_nor_manages_keys() {
    let app = start().await;
    let shop = Holder::of(&app, json!({ "scopes": ["payments:send"] })).await;
    let stream = ask(&shop).await;
    app.tokens.replace(&"new".into(), Some(&TOKEN.into()));
    let previous = token(&app);
    assert_eq!(previous.get("/approvals").await.status, 200);
    assert_eq!(decide(&previous, &stream, "approve").await.status, 422);
    assert_eq!(previous.post("/keys", json!({ "name": "k", "scopes": ["login"] })).await.status, 422);
    assert_eq!(previous.post(&format!("/keys/{}/rotate", shop.id), json!({})).await.status, 422);
    assert_eq!(previous.delete(&format!("/keys/{}", shop.id)).await.status, 422);
    let current = Holder { secret: "new".to_owned(), ..token(&app) };
    assert_eq!(decide(&current, &stream, "approve").await.status, 200);
}

/// Also where a kill, or a database that fails, comes between the revocation and what follows.
#[tokio::test]
async fn what_a_revoked_key_has_asked_for_is_declined() {
    let app = start().await;
    for is_cut_short in [false, true] {
        let shop = Holder::of(&app, json!({ "scopes": ["payments:send"] })).await;
        let (other, left, second) = (ask(&token(&app)).await, ask(&shop).await, ask(&shop).await);
        if is_cut_short {
            app.keys.revoke(shop.id.parse().unwrap(), None).await.unwrap();
            let before = audit(&app).await;
            assert_eq!(decide(&token(&app), &left, "approve").await.code(), (404, "approval_not_found"));
            assert_eq!(audit(&app).await, before, "nothing was approved");
        }
        // As the next start does it, and a repeated revocation.
        let revoked = token(&app).delete(&format!("/keys/{}", shop.id)).await.status;
        assert_eq!(revoked, if is_cut_short { 404 } else { 200 });
        for stream in [&left, &second] {
            let events = app.read(&format!("/events/{stream}?after=1&wait=20")).await;
            let data = &events["events"][0]["data"];
            assert_eq!((&data["status"], &data["outcome"]), (&json!("error"), &json!("not_paid")), "{events}");
            assert_eq!(data["reason"], "the key that asked for it was revoked");
        }
        let list = app.read("/approvals").await;
        assert_eq!(list["approvals"].as_array().unwrap().last().unwrap()["stream_id"], other);
        assert_eq!(list["approvals"].as_array().unwrap().len(), 1 + usize::from(is_cut_short));
    }
}

/// Approvals and budgets count no withdrawals: many small ones would get around them.
#[tokio::test]
async fn keys_withdraw_no_tickets_where_what_they_send_is_limited() {
    let code = async |holder: &Holder<'_>, amount: u64| {
        let body = json!({ "mint_url": "https://mint.example", "unit": "sat", "amount": amount });
        holder.post("/cashu/withdraw", body).await.body["code"].clone()
    };
    for (approval_above, daily_budget) in [(Some(5_000), None), (None, Some(5_000)), (None, None)] {
        let app = TestApp::with(|of| {
            let spending = &mut of.options.payments.spending;
            (spending.approval_above, spending.daily_budget) = (approval_above, daily_budget);
        })
        .await;
        let shop = Holder::of(&app, json!({ "scopes": ["payments:send"] })).await;
        let is_limited = approval_above.or(daily_budget).is_some();
        assert_eq!(code(&shop, 1).await == "token_required", is_limited);
        assert_ne!(code(&token(&app), 1).await, "token_required");
        let refused = audit(&app).await.into_iter().filter(|entry| entry["outcome"] == "token_required").count();
        assert_eq!(refused, usize::from(is_limited));
        app.stop().await;
    }
}
