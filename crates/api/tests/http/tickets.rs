//! The endpoints of tickets, on a fake ticket wallet; crates/usher/tests/e2e has a real one with real mints.

use std::time::Duration;

use proptest::prelude::*;
use reqwest::Response;
use serde_json::{Value, json};
use usher_engine::ports::{TicketError, Token, TokenFault};
use usher_engine::testing::{MINT, UNIT, token};

use crate::app::{TestApp, eventually, key, within};

async fn post(app: &TestApp, path: &str, body: &Value) -> (u16, Value) {
    read(app.post(path).json(body).send().await.unwrap()).await
}

async fn post_with_key(app: &TestApp, path: &str, key: &str, body: &Value) -> (u16, Value) {
    read(app.post(path).header("idempotency-key", key).json(body).send().await.unwrap()).await
}

async fn read(response: Response) -> (u16, Value) {
    (response.status().as_u16(), response.json().await.unwrap())
}

fn pointers(problem: &Value) -> Vec<&str> {
    let mut pointers: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    pointers.sort_unstable();
    pointers
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
    let burned = post(&app, "/cashu/burn", &burning(&token)).await;
    assert_eq!(burned, (200, json!({ "amount": 2 })), "the mint's fee is 1");
    let (status, withdrawn) = post(&app, "/cashu/withdraw", &minting(MINT)).await;
    assert_eq!(status, 200);
    assert!(withdrawn["token"].as_str().unwrap().starts_with("cashuB"));
    let balances = app.get("/cashu/balances").send().await.unwrap();
    insta::assert_snapshot!(balances.text().await.unwrap(), @r#"{"balances":[{"mint_url":"https://mint.example","unit":"multi","amount":41}]}"#);
    app.stop().await;
}

#[tokio::test]
async fn every_failure_has_its_status_and_code() {
    let app = TestApp::start().await;
    type Failure = fn() -> TicketError;
    let failures: [(&str, Failure, u16, &str); 6] = [
        ("https://refuses.example", || TicketError::Refused("minting is disabled".to_owned()), 502, "mint_error"),
        ("https://lies.example", || TicketError::InvalidResponse("no signature".to_owned()), 502, "mint_error"),
        ("https://away.example", || TicketError::Unreachable("connection refused".to_owned()), 502, "mint_error"),
        ("https://hangs.example", || TicketError::TimedOut, 504, "mint_timeout"),
        ("https://crowded.example", || TicketError::Overloaded, 503, "overloaded"),
        ("https://private.example", || TicketError::AddressNotAllowed("private".to_owned()), 422, "invalid_request"),
    ];
    for (mint, failure, status, code) in failures {
        app.tickets.fail(mint, failure);
        for path in ["/cashu/mint", "/cashu/withdraw", "/cashu/burn"] {
            let mut body = minting(mint);
            body["token"] = json!(token(mint, UNIT, 1, "good").0);
            let (answered, problem) = post(&app, path, &body).await;
            assert_eq!((answered, problem["code"].as_str()), (status, Some(code)), "{path} {mint}");
            if status == 422 {
                assert_eq!(pointers(&problem), ["/mint_url"]);
            }
        }
    }
    for (fault, status, code, pointer) in [
        (TokenFault::AlreadySpent, 409, "token_already_spent", None),
        (TokenFault::Locked, 422, "invalid_request", Some("/token")),
        (TokenFault::Forged, 422, "invalid_request", Some("/token")),
        (TokenFault::UnknownKeyset, 422, "invalid_request", Some("/token")),
        (TokenFault::WorthNothing, 422, "invalid_request", Some("/token")),
        (TokenFault::TooLarge { limit: 1_000, of: "proofs" }, 422, "invalid_request", Some("/token")),
        (TokenFault::Malformed, 422, "invalid_request", Some("/token")),
    ] {
        let token = ticket(7, &format!("{fault:?}"));
        app.tickets.refuse(&token, fault.clone());
        let (answered, problem) = post(&app, "/cashu/burn", &burning(&token)).await;
        assert_eq!((answered, problem["code"].as_str()), (status, Some(code)), "{fault:?}");
        assert_eq!(problem["errors"][0]["pointer"].as_str(), pointer, "{fault:?}");
        assert!(!problem.to_string().contains(&token.0), "{problem}");
    }
    let good = ticket(1, "good").0;
    let other = json!({ "mint_url": "https://other.example", "unit": UNIT, "token": good });
    assert_eq!(pointers(&post(&app, "/cashu/burn", &other).await.1), ["/mint_url"]);
    let other = json!({ "mint_url": MINT, "unit": "sat", "token": good });
    assert_eq!(pointers(&post(&app, "/cashu/burn", &other).await.1), ["/unit"]);
    let (status, problem) =
        post(&app, "/cashu/withdraw", &json!({ "mint_url": MINT, "unit": UNIT, "amount": 43 })).await;
    assert_eq!((status, pointers(&problem)), (422, vec!["/amount"]));
    app.stop().await;
}

#[tokio::test]
async fn all_invalid_fields_are_reported_together() {
    let app = TestApp::start().await;
    for (path, body, expected) in [
        ("/cashu/mint", json!({}), vec!["/amount", "/mint_url", "/unit"]),
        ("/cashu/burn", json!({}), vec!["/mint_url", "/token", "/unit"]),
        ("/cashu/withdraw", json!({}), vec!["/amount", "/mint_url", "/unit"]),
        ("/cashu/request", json!({}), vec!["/amount", "/main_key", "/mint_url", "/subkeys", "/unit"]),
        (
            "/cashu/mint",
            json!({ "mint_url": "mint.example", "unit": "two words", "amount": 0, "static_token": "", "description": 7 }),
            vec!["/amount", "/description", "/mint_url", "/static_token", "/unit"],
        ),
        (
            "/cashu/mint",
            json!({ "mint_url": MINT, "unit": "x".repeat(33), "amount": 1_u64 << 53, "static_auth_token": "ä" }),
            vec!["/amount", "/static_auth_token", "/unit"],
        ),
        (
            "/cashu/burn",
            json!({ "mint_url": "ftp://mint.example", "unit": 7, "token": "two words" }),
            vec!["/mint_url", "/token", "/unit"],
        ),
        (
            "/cashu/request",
            json!({ "recipient_key": "npub1", "subkeys": [1], "mint_url": "https://u:p@mint.example", "unit": "",
                "amount": 1.5, "redeem": "yes", "expires_at": 1, "request_id": "" }),
            vec![
                "/amount",
                "/expires_at",
                "/mint_url",
                "/recipient_key",
                "/redeem",
                "/request_id",
                "/subkeys/0",
                "/unit",
            ],
        ),
    ] {
        let (status, problem) = post(&app, path, &body).await;
        assert_eq!((status, pointers(&problem)), (422, expected), "{path} {body}");
    }
    assert_eq!((app.tickets.jobs(), app.engine.open_streams()), (0, 1), "nothing was started");
    app.stop().await;
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
        (json!({ "static_auth_token": "b" }), Some("b")),
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
    app.stop().await;
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

    let list = async |query: &str| -> Value {
        app.get(&format!("/cashu/outgoing{query}")).send().await.unwrap().json().await.unwrap()
    };
    let first = list("?limit=2").await;
    let ids = |page: &Value| -> Vec<String> {
        let outgoing = page["outgoing"].as_array().unwrap().iter();
        outgoing.map(|ticket| ticket["stream_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&first), streams[..2]);
    let ticket = &first["outgoing"][0];
    assert_eq!(ticket["main_key"], user);
    assert_eq!((&ticket["mint_url"], &ticket["unit"], &ticket["amount"]), (&json!(MINT), &json!(UNIT), &json!(5)));
    assert!(["queued", "sent"].contains(&ticket["status"].as_str().unwrap()), "{ticket}");
    let (created, expires) = (ticket["created_at"].as_u64().unwrap(), ticket["expires_at"].as_u64().unwrap());
    assert!((168 * 3600 - 2..=168 * 3600 + 2).contains(&(expires - created)), "{ticket}");
    assert!(!first.to_string().contains("cashuB"), "the token is not in the list");
    let rest = list(&format!("?after={}&limit=2", first["next"].as_str().unwrap())).await;
    assert_eq!((ids(&rest), &rest["next"]), (streams[2..].to_vec(), &Value::Null));

    let reclaim = format!("/cashu/outgoing/{}/reclaim", streams[1]);
    let expected = json!({ "stream_id": streams[1], "status": "reclaimed", "amount": 5 });
    assert_eq!(post(&app, &reclaim, &json!({})).await, (200, expected.clone()));
    assert_eq!(post(&app, &reclaim, &json!({ "static_auth_token": "x" })).await, (200, expected), "it is done already");
    assert_eq!(ids(&list("").await), [streams[0].clone(), streams[2].clone()]);
    let page: Value = app.get(&format!("/events/{}", streams[1])).send().await.unwrap().json().await.unwrap();
    assert_eq!(page["done"], true, "{page}");
    app.stop().await;
}

#[tokio::test]
async fn invalid_sends_and_reclaims_are_refused() {
    let app = TestApp::start().await;
    let user = key(7).to_hex();
    for (body, expected) in [
        (json!({}), vec!["/main_key", "/subkeys", "/token"]),
        (json!({ "main_key": user, "subkeys": [], "token": "no-token" }), vec!["/token"]),
        (json!({ "main_key": 1, "subkeys": [], "token": "no-token" }), vec!["/main_key", "/token"]),
        (
            json!({ "main_key": user, "subkeys": [], "token": format!("cashuB{}_1", "x".repeat(40_000)) }),
            vec!["/token"],
        ),
    ] {
        let (status, problem) = post(&app, "/cashu/send-direct", &body).await;
        assert_eq!((status, pointers(&problem)), (422, expected), "{problem}");
    }
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
    let refused = app.get("/cashu/outgoing?limit=0&after=x").send().await.unwrap();
    assert_eq!(pointers(&read(refused).await.1), ["/after", "/limit"]);
    app.stop().await;
}

/// Two spellings of a mint and a unit are one job's terms.
#[tokio::test]
async fn mints_and_units_are_compared_in_their_normal_form() {
    let app = TestApp::start().await;
    let body = json!({ "mint_url": "HTTPS://MINT.example:443/", "unit": "MULTI", "token": ticket(5, "good").0 });
    assert_eq!(post(&app, "/cashu/burn", &body).await, (200, json!({ "amount": 4 })));
    app.stop().await;
}

#[tokio::test]
async fn repeated_request_returns_the_same_token() {
    let app = TestApp::start().await;
    for path in ["/cashu/mint", "/cashu/withdraw"] {
        let before = app.tickets.jobs();
        let (status, first) = post_with_key(&app, path, "k", &minting(MINT)).await;
        assert_eq!(status, 200);
        for _ in 0..3 {
            assert_eq!(post_with_key(&app, path, "k", &minting(MINT)).await, (200, first.clone()));
        }
        assert_eq!(app.tickets.jobs(), before + 1);
        let (status, problem) = post_with_key(&app, path, "k", &minting("https://mint2.example")).await;
        assert_eq!((status, problem["code"].as_str()), (409, Some("idempotency_key_reused")));
        let (_, other) = post_with_key(&app, path, "k2", &minting(MINT)).await;
        assert_ne!(other, first);
    }
    app.stop().await;
}

/// The stored response may be missing, after a crash or an error: then the job tells.
#[tokio::test]
async fn another_body_with_an_unfinished_jobs_key_is_409() {
    let app = TestApp::start().await;
    app.tickets.fail("https://away.example", || TicketError::Unreachable("connection refused".to_owned()));
    assert_eq!(post_with_key(&app, "/cashu/mint", "k", &minting("https://away.example")).await.0, 502);
    let (status, problem) = post_with_key(&app, "/cashu/mint", "k", &minting(MINT)).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("idempotency_key_reused")));
    app.stop().await;
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
    app.stop().await;
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

/// No ticket was sent with this stream.
const RECLAIM: &str = "/cashu/outgoing/0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b/reclaim";

/// Fields of these endpoints.
const NAMES: [&str; 13] = [
    "main_key",
    "recipient_key",
    "subkeys",
    "mint_url",
    "unit",
    "amount",
    "token",
    "redeem",
    "static_token",
    "static_auth_token",
    "description",
    "request_id",
    "expires_at",
];

/// Whatever a client sends, no answer is a fault of the service, and no answer repeats a secret.
#[test]
fn arbitrary_requests_never_cause_a_500() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let app = runtime.block_on(TestApp::start());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        "cashu[AB][A-Za-z0-9_=-]{0,60}".prop_map(Value::from),
        "https?://[a-z0-9.:/@%?#\\[\\]-]{0,30}".prop_map(Value::from),
        Just(json!(MINT)),
        Just(json!(UNIT)),
        Just(json!(key(7).to_hex())),
        Just(json!([])),
        Just(json!({ "a": [1, {}] })),
        Just(json!(ticket(7, "good").0)),
        Just(json!(format!("cashuB{MINT}|{UNIT}|99999999999999999999|good"))),
    ];
    let fields = proptest::collection::btree_map(proptest::sample::select(&NAMES[..]), leaf, 0..=NAMES.len());
    let paths = proptest::sample::select(
        &["/cashu/request", "/cashu/mint", "/cashu/burn", "/cashu/withdraw", "/cashu/send-direct", RECLAIM][..],
    );
    proptest!(ProptestConfig::with_cases(300), |(path in paths, fields in fields)| {
        let (status, answer) = runtime.block_on(post(&app, path, &json!(fields)));
        prop_assert!([200, 404, 409, 422].contains(&status), "{} {:?}: {} {}", path, fields, status, answer);
        if status == 422 {
            prop_assert!(!answer["errors"].as_array().unwrap().is_empty(), "{answer}");
        }
    });
    runtime.block_on(app.stop());
}
