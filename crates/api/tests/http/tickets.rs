//! The endpoints of tickets, on a fake ticket wallet; crates/usher/tests/e2e has a real one with real mints.

use std::time::Duration;

use serde_json::{Value, json};
use usher_engine::ports::{TicketError, Token, TokenFault};
use usher_testing::ports::{MINT, UNIT, token};

use crate::app::{TestApp, key, pointers, read, stream_of, until, within};

async fn post(app: &TestApp, path: &str, body: &Value) -> (u16, Value) {
    read(app.post(path).json(body)).await
}

async fn post_with_key(app: &TestApp, path: &str, key: &str, body: &Value) -> (u16, Value) {
    read(app.post(path).header("idempotency-key", key).json(body)).await
}

/// That it is refused because of this field.
async fn wrong(app: &TestApp, path: &str, body: &Value, pointer: &str) {
    let (status, problem) = post(app, path, body).await;
    assert_eq!((status, pointers(&problem)), (422, vec![pointer]), "{path} {body}");
}

fn minting(mint: &str) -> Value {
    json!({ "mint_url": mint, "unit": UNIT, "amount": 3 })
}

fn ticket(amount: u64, name: &str) -> Token {
    token(MINT, UNIT, amount, name)
}

fn with(mut body: Value, fields: &Value) -> Value {
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn tickets_are_minted_burned_withdrawn_and_listed() {
    let app = TestApp::start().await;
    let minted = app.done("POST", "/cashu/mint", minting(MINT)).await;
    assert!(minted["token"].as_str().unwrap().starts_with("cashuB"));
    // Two spellings of a mint and a unit are one.
    let body = json!({ "mint_url": "HTTPS://MINT.example:443/", "unit": "MULTI", "token": minted["token"] });
    assert_eq!(app.done("POST", "/cashu/burn", body).await, json!({ "amount": 2 }), "the mint's fee is 1");
    let withdrawn = app.done("POST", "/cashu/withdraw", minting(MINT)).await;
    assert!(withdrawn["token"].as_str().unwrap().starts_with("cashuB"));
    let balances = json!({ "balances": [{ "mint_url": MINT, "unit": UNIT, "amount": 41 }] });
    assert_eq!(app.read("/cashu/balances").await, balances);
}

/// Samples; all of them: `problem/tickets.rs`.
#[tokio::test]
async fn failures_have_a_status_and_a_code() {
    let app = TestApp::start().await;
    app.tickets.fail("https://hangs.example", || TicketError::TimedOut);
    for path in ["/cashu/mint", "/cashu/withdraw", "/cashu/burn"] {
        let token = token("https://hangs.example", UNIT, 1, "good").0;
        let body = with(minting("https://hangs.example"), &json!({ "token": token }));
        app.refused("POST", path, body, (504, "mint_timeout")).await;
    }
    let spent = ticket(7, "spent");
    app.tickets.refuse(&spent, TokenFault::AlreadySpent);
    let burning = |mint: &str, unit: &str, token: &Token| json!({ "mint_url": mint, "unit": unit, "token": token.0 });
    let problem = app.refused("POST", "/cashu/burn", burning(MINT, UNIT, &spent), (409, "token_already_spent")).await;
    assert!(!problem.to_string().contains(&spent.0), "{problem}");
    wrong(&app, "/cashu/burn", &burning("https://other.example", UNIT, &ticket(1, "good")), "/mint_url").await;
    wrong(&app, "/cashu/burn", &burning(MINT, "sat", &ticket(1, "good")), "/unit").await;
}

#[tokio::test]
async fn fields_accept_both_names() {
    let app = TestApp::start().await;
    for (fields, shown) in [
        (json!({ "static_token": "a" }), Some("a")),
        (json!({ "static_token": "c", "static_auth_token": "c" }), Some("c")),
        (json!({ "static_token": null, "static_auth_token": "d" }), Some("d")),
        (json!({ "static_token": null }), None),
    ] {
        app.done("POST", "/cashu/mint", with(minting(MINT), &fields)).await;
        assert_eq!(app.tickets.take_auth().pop().as_deref(), shown, "{fields}");
    }
    let two = json!({ "static_token": "a", "static_auth_token": "b" });
    wrong(&app, "/cashu/mint", &with(minting(MINT), &two), "/static_auth_token").await;

    let ask = |keys: &Value| with(with(minting(MINT), &json!({ "subkeys": [] })), keys);
    let (one, other) = (key(7).to_hex(), key(8).to_hex());
    for keys in [
        json!({ "main_key": one }),
        json!({ "recipient_key": one }),
        json!({ "main_key": one, "recipient_key": one.to_uppercase() }),
    ] {
        stream_of(&app.done("POST", "/cashu/request", ask(&keys)).await);
    }
    let two = json!({ "main_key": one, "recipient_key": other });
    wrong(&app, "/cashu/request", &ask(&two), "/recipient_key").await;
}

#[tokio::test]
async fn tickets_are_sent_listed_and_reclaimed() {
    let app = TestApp::start().await;
    let user = key(7).to_hex();
    let send = |token: &Token| json!({ "main_key": user, "subkeys": [], "token": token.0, "request_id": "seat-1" });
    let mut streams = Vec::new();
    let tokens = [ticket(5, "a"), ticket(6, "b"), ticket(7, "c")];
    for token in &tokens {
        let (status, sent) = post_with_key(&app, "/cashu/send-direct", &token.0, &send(token)).await;
        assert_eq!((status, &sent["status"]), (200, &json!("queued")), "no relay is connected here");
        assert_eq!(post_with_key(&app, "/cashu/send-direct", &token.0, &send(token)).await, (200, sent.clone()));
        streams.push(stream_of(&sent));
    }
    // The same token returns the same delivery; for another recipient, it is refused.
    assert_eq!(stream_of(&app.done("POST", "/cashu/send-direct", send(&tokens[0])).await), streams[0]);
    let other = json!({ "recipient_key": key(8).to_hex(), "subkeys": [], "token": tokens[0].0 });
    wrong(&app, "/cashu/send-direct", &other, "/token").await;

    let first = app.read("/cashu/outgoing").await;
    let ids = |page: &Value| -> Vec<String> { page["outgoing"].as_array().unwrap().iter().map(stream_of).collect() };
    assert_eq!(ids(&first), streams);
    let ticket = &first["outgoing"][0];
    assert!(["queued", "sent"].contains(&ticket["status"].as_str().unwrap()), "{ticket}");
    let (created, expires) = (ticket["created_at"].as_u64().unwrap(), ticket["expires_at"].as_u64().unwrap());
    assert!((168 * 3600 - 2..=168 * 3600 + 2).contains(&(expires - created)), "{ticket}");
    let expected = [json!(user), json!(MINT), json!(UNIT), json!(5)];
    assert_eq!(["main_key", "mint_url", "unit", "amount"].map(|name| ticket[name].clone()), expected);
    assert!(!first.to_string().contains("cashuB"), "the token is not in the list");
    let reclaim = format!("/cashu/outgoing/{}/reclaim", streams[1]);
    let expected = json!({ "stream_id": streams[1], "status": "reclaimed", "amount": 5 });
    assert_eq!(post(&app, &reclaim, &json!({})).await, (200, expected.clone()));
    assert_eq!(post(&app, &reclaim, &json!({ "static_auth_token": "x" })).await, (200, expected), "it is done already");
    assert_eq!(ids(&app.read("/cashu/outgoing").await), [streams[0].clone(), streams[2].clone()]);
    assert_eq!(app.read(&format!("/events/{}", streams[1])).await["done"], true);

    let (handshake, _) = app.handshake(json!({})).await;
    for stream in [handshake.as_str(), "0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b", "subscriptions", "%ff"] {
        let path = format!("/cashu/outgoing/{stream}/reclaim");
        app.refused("POST", &path, json!({}), (404, "stream_not_found")).await;
    }
    app.tickets.refuse(&tokens[2], TokenFault::AlreadySpent);
    let reclaim = format!("/cashu/outgoing/{}/reclaim", streams[2]);
    app.refused("POST", &reclaim, json!({}), (409, "token_already_spent")).await;
}

/// The stored response may be missing after a crash or an error: the job has the result.
#[tokio::test]
async fn another_body_with_an_unfinished_jobs_key_is_409() {
    let app = TestApp::start().await;
    app.tickets.fail("https://away.example", || TicketError::Unreachable("connection refused".to_owned()));
    assert_eq!(post_with_key(&app, "/cashu/mint", "k", &minting("https://away.example")).await.0, 502);
    let (status, problem) = post_with_key(&app, "/cashu/mint", "k", &minting(MINT)).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("idempotency_key_reused")));
}

/// Neither a mint that is slow nor a client that hangs up cuts the work in half: the token is there for the next request.
#[tokio::test]
async fn a_job_continues_without_its_client_and_its_token_is_kept() {
    for hangs_up in [false, true] {
        let app = TestApp::with(|of| {
            if !hangs_up {
                of.limits.mint_timeout = Duration::from_millis(200);
            }
        })
        .await;
        app.tickets.hold(Some(MINT));
        let body = minting(MINT);
        let call = app.post("/cashu/mint").header("idempotency-key", "k").json(&body);
        if hangs_up {
            tokio::select! {
                response = call.send() => panic!("{response:?}"),
                () = until(async || app.tickets.jobs() == 1) => {}
            }
        } else {
            let (status, problem) = read(call).await;
            assert_eq!((status, problem["code"].as_str()), (504, Some("mint_timeout")));
        }
        app.tickets.hold(None);
        let mut answer = (504, Value::Null);
        within(async {
            while answer.0 == 504 {
                answer = post_with_key(&app, "/cashu/mint", "k", &body).await;
            }
        })
        .await;
        assert_eq!(answer.0, 200, "{answer:?}");
        assert_eq!(app.tickets.jobs(), 1, "it is the same job");
        app.stop().await;
    }
}
