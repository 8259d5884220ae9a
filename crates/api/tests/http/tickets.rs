//! The endpoints of tickets, on a fake ticket wallet; crates/usher/tests/e2e has a real one with real mints.

use std::time::Duration;

use serde_json::{Value, json};
use usher_engine::ports::{TicketError, Token, TokenFault};
use usher_engine::testing::{MINT, UNIT, token};

use crate::app::{TestApp, eventually, key, pointers, read, within};

async fn post(app: &TestApp, path: &str, body: &Value) -> (u16, Value) {
    read(app.post(path).json(body)).await
}

async fn post_with_key(app: &TestApp, path: &str, key: &str, body: &Value) -> (u16, Value) {
    read(app.post(path).header("idempotency-key", key).json(body)).await
}

fn minting(mint: &str) -> Value {
    json!({ "mint_url": mint, "unit": UNIT, "amount": 3 })
}

fn burning(token: &Token) -> Value {
    json!({ "mint_url": MINT, "unit": UNIT, "token": token.0 })
}

/// A token that nobody has redeemed.
fn ticket(amount: u64, name: &str) -> Token {
    token(MINT, UNIT, amount, name)
}

#[tokio::test]
async fn tickets_are_minted_burned_withdrawn_and_listed() {
    let app = TestApp::start().await;
    let (status, minted) = post(&app, "/cashu/mint", &minting(MINT)).await;
    assert_eq!(status, 200);
    let token = Token(minted["token"].as_str().unwrap().to_owned());
    assert!(token.0.starts_with("cashuB"));
    // Two spellings of a mint and a unit are one.
    let body = json!({ "mint_url": "HTTPS://MINT.example:443/", "unit": "MULTI", "token": token.0 });
    let burned = post(&app, "/cashu/burn", &body).await;
    assert_eq!(burned, (200, json!({ "amount": 2 })), "the mint's fee is 1");
    let (status, withdrawn) = post(&app, "/cashu/withdraw", &minting(MINT)).await;
    assert_eq!(status, 200);
    assert!(withdrawn["token"].as_str().unwrap().starts_with("cashuB"));
    let balances = json!({ "balances": [{ "mint_url": MINT, "unit": UNIT, "amount": 41 }] });
    assert_eq!(app.read("/cashu/balances").await, balances);
}

#[tokio::test]
async fn every_failure_has_its_status_and_code() {
    let app = TestApp::start().await;
    type Failure = fn() -> TicketError;
    // The others: `problem/tickets.rs`.
    let failures: [(&str, Failure, u16, &str); 3] = [
        ("https://away.example", || TicketError::Unreachable("connection refused".to_owned()), 502, "mint_error"),
        ("https://hangs.example", || TicketError::TimedOut, 504, "mint_timeout"),
        ("https://private.example", || TicketError::AddressNotAllowed("private".to_owned()), 422, "invalid_request"),
    ];
    for (mint, failure, status, code) in failures {
        app.tickets.fail(mint, failure);
        for path in ["/cashu/mint", "/cashu/withdraw", "/cashu/burn"] {
            let mut body = minting(mint);
            body["token"] = json!(token(mint, UNIT, 1, "good").0);
            let (answered, problem) = post(&app, path, &body).await;
            assert_eq!((answered, problem["code"].as_str()), (status, Some(code)), "{path} {mint}");
        }
    }
    for (fault, status, code, fields) in [
        (TokenFault::AlreadySpent, 409, "token_already_spent", &[][..]),
        (TokenFault::Forged, 422, "invalid_request", &["/token"]),
    ] {
        let token = ticket(7, &format!("{fault:?}"));
        app.tickets.refuse(&token, fault.clone());
        let (answered, problem) = post(&app, "/cashu/burn", &burning(&token)).await;
        assert_eq!((answered, problem["code"].as_str()), (status, Some(code)), "{fault:?}");
        assert_eq!(pointers(&problem), fields, "{fault:?}");
        assert!(!problem.to_string().contains(&token.0), "{problem}");
    }
    let good = ticket(1, "good").0;
    let other = json!({ "mint_url": "https://other.example", "unit": UNIT, "token": good });
    assert_eq!(pointers(&post(&app, "/cashu/burn", &other).await.1), ["/mint_url"]);
    let other = json!({ "mint_url": MINT, "unit": "sat", "token": good });
    assert_eq!(pointers(&post(&app, "/cashu/burn", &other).await.1), ["/unit"]);
}

#[tokio::test]
async fn fields_accept_both_names() {
    let app = TestApp::start().await;
    let with = |fields: Value| {
        let mut body = minting(MINT);
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    };
    for (fields, shown) in [
        (json!({ "static_token": "a" }), Some("a")),
        (json!({ "static_token": "c", "static_auth_token": "c" }), Some("c")),
        (json!({ "static_token": null, "static_auth_token": "d" }), Some("d")),
        (json!({ "static_token": null }), None),
    ] {
        assert_eq!(post(&app, "/cashu/mint", &with(fields.clone())).await.0, 200, "{fields}");
        assert_eq!(app.tickets.take_auth().pop().as_deref(), shown, "{fields}");
    }
    let (status, problem) =
        post(&app, "/cashu/mint", &with(json!({ "static_token": "a", "static_auth_token": "b" }))).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/static_auth_token"]));

    let ask = |keys: Value| {
        let mut body = with(json!({ "subkeys": [] }));
        body.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        body
    };
    let (one, other) = (key(7).to_hex(), key(8).to_hex());
    for keys in [
        json!({ "main_key": one }),
        json!({ "recipient_key": one }),
        json!({ "main_key": one, "recipient_key": one.to_uppercase() }),
    ] {
        let (status, started) = post(&app, "/cashu/request", &ask(keys.clone())).await;
        assert!(status == 200 && started["stream_id"].is_string(), "{keys} {started}");
    }
    let (status, problem) =
        post(&app, "/cashu/request", &ask(json!({ "main_key": one, "recipient_key": other }))).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/recipient_key"]));
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
        assert_eq!(status, 200, "{sent}");
        assert_eq!(sent["status"], "queued", "no relay is connected here");
        assert_eq!(post_with_key(&app, "/cashu/send-direct", &token.0, &send(token)).await, (200, sent.clone()));
        streams.push(sent["stream_id"].as_str().unwrap().to_owned());
    }
    // The same token again is the same delivery, and nobody else gets it.
    assert_eq!(post(&app, "/cashu/send-direct", &send(&tokens[0])).await.1["stream_id"], streams[0].as_str());
    let other = json!({ "recipient_key": key(8).to_hex(), "subkeys": [], "token": tokens[0].0 });
    let (status, problem) = post(&app, "/cashu/send-direct", &other).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/token"]));

    let first = app.read("/cashu/outgoing").await;
    let ids = |page: &Value| -> Vec<String> {
        let outgoing = page["outgoing"].as_array().unwrap().iter();
        outgoing.map(|ticket| ticket["stream_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&first), streams);
    let ticket = &first["outgoing"][0];
    assert_eq!(ticket["main_key"], user);
    assert_eq!((&ticket["mint_url"], &ticket["unit"], &ticket["amount"]), (&json!(MINT), &json!(UNIT), &json!(5)));
    assert!(["queued", "sent"].contains(&ticket["status"].as_str().unwrap()), "{ticket}");
    let (created, expires) = (ticket["created_at"].as_u64().unwrap(), ticket["expires_at"].as_u64().unwrap());
    assert!((168 * 3600 - 2..=168 * 3600 + 2).contains(&(expires - created)), "{ticket}");
    assert!(!first.to_string().contains("cashuB"), "the token is not in the list");
    let reclaim = format!("/cashu/outgoing/{}/reclaim", streams[1]);
    let expected = json!({ "stream_id": streams[1], "status": "reclaimed", "amount": 5 });
    assert_eq!(post(&app, &reclaim, &json!({})).await, (200, expected.clone()));
    assert_eq!(post(&app, &reclaim, &json!({ "static_auth_token": "x" })).await, (200, expected), "it is done already");
    assert_eq!(ids(&app.read("/cashu/outgoing").await), [streams[0].clone(), streams[2].clone()]);
    let page = app.read(&format!("/events/{}", streams[1])).await;
    assert_eq!(page["done"], true, "{page}");
}

#[tokio::test]
async fn what_cannot_be_reclaimed_is_refused() {
    let app = TestApp::start().await;
    let user = key(7).to_hex();
    let (handshake, _) = app.handshake(json!({})).await;
    for stream in [handshake.as_str(), "0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b", "subscriptions", "%ff"] {
        let (status, problem) = post(&app, &format!("/cashu/outgoing/{stream}/reclaim"), &json!({})).await;
        assert_eq!((status, problem["code"].as_str()), (404, Some("stream_not_found")), "{stream}");
    }
    let spent = ticket(7, "spent");
    app.tickets.refuse(&spent, TokenFault::AlreadySpent);
    let spent = json!({ "main_key": user, "subkeys": [], "token": spent.0 });
    let sent = post(&app, "/cashu/send-direct", &spent).await.1;
    let reclaim = format!("/cashu/outgoing/{}/reclaim", sent["stream_id"].as_str().unwrap());
    let (status, problem) = post(&app, &reclaim, &json!({})).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("token_already_spent")));
}

/// The stored response may be missing, after a crash or an error: then the job tells.
#[tokio::test]
async fn another_body_with_an_unfinished_jobs_key_is_409() {
    let app = TestApp::start().await;
    app.tickets.fail("https://away.example", || TicketError::Unreachable("connection refused".to_owned()));
    assert_eq!(post_with_key(&app, "/cashu/mint", "k", &minting("https://away.example")).await.0, 502);
    let (status, problem) = post_with_key(&app, "/cashu/mint", "k", &minting(MINT)).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("idempotency_key_reused")));
}

#[tokio::test]
async fn slow_mint_is_504_and_the_job_continues() {
    let mut builder = TestApp::builder();
    builder.limits.mint_timeout = Duration::from_millis(200);
    let app = builder.start().await;
    app.tickets.hold(Some(MINT));
    let body = minting(MINT);
    let (status, problem) = post_with_key(&app, "/cashu/mint", "k", &body).await;
    assert_eq!((status, problem["code"].as_str()), (504, Some("mint_timeout")));
    app.tickets.hold(None);
    // Its response is stored when it is done, whether or not anybody waits.
    let answer = within(async {
        loop {
            let answer = post_with_key(&app, "/cashu/mint", "k", &body).await;
            if answer.0 != 504 {
                return answer;
            }
        }
    });
    let answer = answer.await;
    assert_eq!(answer.0, 200, "{answer:?}");
    assert_eq!(app.tickets.jobs(), 1, "it is the same job");
}

/// A client that hangs up does not cut the work in half: the token is there for the next request.
#[tokio::test]
async fn token_is_kept_after_a_client_disconnect() {
    let app = TestApp::start().await;
    app.tickets.hold(Some(MINT));
    let body = minting(MINT);
    let call = app.post("/cashu/mint").header("idempotency-key", "k").json(&body).send();
    tokio::select! {
        response = call => panic!("{response:?}"),
        () = eventually(|| (app.tickets.jobs() == 1).then_some(())) => {}
    }
    app.tickets.hold(None);
    let (status, answer) = post_with_key(&app, "/cashu/mint", "k", &body).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(app.tickets.jobs(), 1);
    app.stop().await;
}
