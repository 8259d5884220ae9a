//! Tickets: the real program and a real mint.

mod balances_command;
mod fixture;
mod hostile_mint;
mod kills;
mod nutshell;
mod paid_quotes;
mod restore;
mod users;

use serde_json::{Value, json};
use usher_mint::{Mint, MintOptions};

use self::fixture::{AUTH, Fixture, UNIT, key};
use crate::harness::{CallError, TestUsher};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_is_minted_burned_once_and_withdrawn() {
    let fixture = Fixture::open().await;
    let minted = fixture.post("/cashu/mint", &fixture.amount(5)).await.unwrap();
    let token = minted["token"].as_str().unwrap();
    assert!(token.starts_with("cashuB"), "version 4");
    assert_eq!(fixture.balance().await, 0, "the token belongs to whoever has it");

    let burned = fixture.post("/cashu/burn", &fixture.token(token)).await.unwrap();
    assert_eq!(burned, json!({ "amount": 5 }));
    let again = fixture.post("/cashu/burn", &fixture.token(token)).await;
    assert_eq!(refused(again), (409, "token_already_spent".to_owned()));
    assert_eq!(fixture.balance().await, 5);

    let withdrawn = fixture.post("/cashu/withdraw", &fixture.amount(3)).await.unwrap();
    assert_eq!(fixture.balance().await, 2);
    let too_much = fixture.post("/cashu/withdraw", &fixture.amount(3)).await;
    assert_eq!(refused(too_much), (422, "invalid_request".to_owned()));
    let token = withdrawn["token"].as_str().unwrap();
    assert_eq!(fixture.post("/cashu/burn", &fixture.token(token)).await.unwrap(), json!({ "amount": 3 }));
    assert_eq!(fixture.balance().await, 5);
    // The books of both sides agree.
    assert_eq!(fixture.mint.totals(UNIT).await.unwrap().outstanding(), 5);

    let metrics = fixture.usher.api();
    assert_eq!(metrics.metric(r#"usher_ticket_balance{unit="multi"}"#).await, 5);
    assert_eq!(metrics.metric(r#"usher_ticket_calls_total{call="redeem",result="done"}"#).await, 2);
    assert_eq!(metrics.metric(r#"usher_ticket_calls_total{call="redeem",result="token_refused"}"#).await, 1);
    assert_eq!(metrics.metric("usher_ticket_jobs_unfinished").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_its_key_gets_the_same_result_after_a_crash() {
    let mut fixture = Fixture::open().await;
    let api = fixture.usher.api();
    let (minted, replayed) = api.post_once("/cashu/mint", "order-1", &fixture.amount(7)).await.unwrap();
    assert!(!replayed);
    fixture.usher.restart().await;
    assert_eq!(api.post_once("/cashu/mint", "order-1", &fixture.amount(7)).await.unwrap(), (minted.clone(), true));
    let other = api.post_once("/cashu/mint", "order-1", &fixture.amount(8)).await.map(|_| Value::Null);
    assert_eq!(refused(other), (409, "idempotency_key_reused".to_owned()));
    assert_eq!(fixture.mint.totals(UNIT).await.unwrap().issued, 7);

    let token = fixture.token(minted["token"].as_str().unwrap());
    let (burned, _) = api.post_once("/cashu/burn", "order-1", &token).await.unwrap();
    fixture.usher.restart().await;
    assert_eq!(api.post_once("/cashu/burn", "order-1", &token).await.unwrap(), (burned, true));
    assert_eq!(fixture.balance().await, 7);
}

/// The service dies after the work, before its response is stored: the job has the result.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_was_never_written_is_written_by_the_repeated_request() {
    let mut fixture = Fixture::open().await;
    let api = fixture.usher.api();
    fixture.usher.kill();
    fixture.usher.die_at(Some("before-answer"));
    fixture.usher.restart().await;
    assert!(matches!(api.post_once("/cashu/mint", "k", &fixture.amount(7)).await, Err(CallError::Network(_))));
    fixture.usher.die_at(None);
    fixture.usher.restart().await;
    let (minted, _) = api.post_once("/cashu/mint", "k", &fixture.amount(7)).await.unwrap();
    assert_eq!(fixture.mint.totals(UNIT).await.unwrap().issued, 7, "minted once");
    let token = fixture.token(minted["token"].as_str().unwrap());
    assert_eq!(api.post("/cashu/burn", &token).await.unwrap(), json!({ "amount": 7 }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_named() {
    let fixture = Fixture::open().await;
    let other = Mint::start(MintOptions::new()).await.unwrap();
    let minted = fixture.post("/cashu/mint", &fixture.amount(2)).await.unwrap();
    let token = minted["token"].as_str().unwrap();
    let with = |field: &str, value: Value| {
        let mut body = fixture.token(token);
        body[field] = value;
        body
    };
    for (body, pointer) in [
        (with("mint_url", json!(other.url())), "/mint_url"),
        (with("unit", json!("sat")), "/unit"),
        (with("token", json!("cashuBnonsense")), "/token"),
        (with("token", json!(&token[..token.len() - 40])), "/token"),
    ] {
        match fixture.post("/cashu/burn", &body).await {
            Err(CallError::Status(422, problem)) => assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}"),
            other => panic!("{pointer}: {other:?}"),
        }
    }
    // The wrong token for the mint, or none.
    for auth in [json!("wrong"), Value::Null] {
        let mut body = fixture.amount(1);
        body["static_token"] = auth;
        assert_eq!(refused(fixture.post("/cashu/mint", &body).await), (502, "mint_error".to_owned()));
    }
    // It is still worth what it was.
    assert_eq!(fixture.post("/cashu/burn", &fixture.token(token)).await.unwrap(), json!({ "amount": 2 }));
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mints_at_private_addresses_are_refused_unless_they_are_allowed() {
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    let usher = TestUsher::builder().relays(&["ws://127.0.0.1:9"]).start().await;
    let body = json!({ "mint_url": mint.url(), "unit": UNIT, "amount": 1 });
    // Nobody is asked for a ticket that could never be verified.
    let user = nostr::Keys::generate().public_key().to_hex();
    let request = json!({ "main_key": user, "subkeys": [], "mint_url": "https://10.0.0.1", "unit": UNIT, "amount": 1 });
    let proof = json!({ "recipient_key": user, "subkeys": [], "mint_url": mint.url() });
    for (path, body) in [("/cashu/mint", &body), ("/cashu/request", &request), ("/verification/token", &proof)] {
        match usher.api().post(path, body).await {
            Err(CallError::Status(422, problem)) => {
                assert_eq!(problem["errors"][0]["pointer"], "/mint_url", "{path}");
                assert!(problem.to_string().contains("cashu.allow_private_mints"), "{problem}");
            }
            other => panic!("{path}: {other:?}"),
        }
    }
    mint.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mint_that_is_away_is_502_or_504_and_the_stop_is_not_held_up() {
    let mut fixture = Fixture::open().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let away = json!({ "mint_url": "http://127.0.0.1:9", "unit": UNIT, "amount": 1 });
    let silent = json!({ "mint_url": silent, "unit": UNIT, "amount": 1 });
    for (body, key) in [(&away, key()), (&silent, key())] {
        let (status, code) =
            refused(fixture.usher.api().post_once("/cashu/mint", &key, body).await.map(|_| Value::Null));
        assert!(matches!((status, code.as_str()), (502, "mint_error") | (504, "mint_timeout")), "{status} {code}");
    }
    let api = fixture.usher.api();
    let waiting = tokio::spawn(async move { api.post("/cashu/mint", &silent).await });
    while fixture.usher.api().metric("usher_ticket_jobs_unfinished").await == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(fixture.usher.stop().await.success());
    assert!(waiting.await.unwrap().is_err());
}

/// No token, proof or secret of a mint is in the log, at any level.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_token_is_logged() {
    let mut fixture = Fixture::open_with(|builder| builder.set("LOG__FORMAT", "json").log_level("trace")).await;
    let minted = fixture.post("/cashu/mint", &fixture.amount(5)).await.unwrap();
    let token = minted["token"].as_str().unwrap().to_owned();
    fixture.post("/cashu/burn", &fixture.token(&token)).await.unwrap();
    assert!(fixture.post("/cashu/burn", &fixture.token(&token)).await.is_err());
    let withdrawn = fixture.post("/cashu/withdraw", &fixture.amount(3)).await.unwrap();
    let withdrawn = withdrawn["token"].as_str().unwrap().to_owned();
    let mut wrong = fixture.amount(1);
    wrong["static_token"] = json!("wrong-s3cret");
    assert!(fixture.post("/cashu/mint", &wrong).await.is_err());
    let mut swapped = fixture.token(AUTH);
    swapped["unit"] = json!(token);
    assert!(fixture.post("/cashu/burn", &swapped).await.is_err());
    assert!(fixture.usher.stop().await.success());

    let log = fixture.usher.log();
    assert!(log.contains("DEBUG") && log.contains("/cashu/mint"), "it logs everything");
    // The end of a token is its last signature; the beginning is the mint and the unit.
    for (what, secret) in [
        ("a minted token", &token[token.len() - 60..]),
        ("the same", &token[..]),
        ("a withdrawn token", &withdrawn[withdrawn.len() - 60..]),
        ("the token of the mint", AUTH),
        ("a wrong one", "wrong-s3cret"),
        ("the service's key", &fixture.usher.secret_key_hex()),
    ] {
        let numbers = secret.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
        for form in [secret.to_owned(), hex::encode(secret), numbers] {
            let line = log.lines().find(|line| line.contains(&form));
            assert!(line.is_none(), "{what} is in the log: {}", line.unwrap_or_default());
        }
    }
    for secret in fixture::secrets(&token).into_iter().chain(fixture::secrets(&withdrawn)) {
        assert!(!log.contains(&secret), "a proof's secret is in the log");
    }
}

fn refused(response: Result<Value, CallError>) -> (u16, String) {
    match response {
        Err(CallError::Status(status, problem)) => (status, problem["code"].as_str().unwrap().to_owned()),
        other => panic!("{other:?}"),
    }
}
