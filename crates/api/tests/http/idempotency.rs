//! `Idempotency-Key`

use std::collections::HashSet;
use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};
use usher_testing::ports::{COMMITS, MINT, UNIT};

use crate::app::{REQUESTS, TestApp, key, pointers, read, until};
use crate::raw_client::{Raw, head};

async fn call(app: &TestApp, path: &str, key: &str, body: &Value) -> Response {
    app.post(path).header("idempotency-key", key).json(body).send().await.unwrap()
}

/// What a call with a key answers when it succeeds, and whether it was answered before.
async fn answer(app: &TestApp, path: &str, key: &str, body: &Value) -> (String, bool) {
    let response = call(app, path, key, body).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["x-request-id"], "test");
    let replayed = response.headers().get("idempotency-replayed").map(|value| value.to_str().unwrap() == "true");
    (response.text().await.unwrap(), replayed.unwrap_or(false))
}

async fn code(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    (status, body["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn repeated_request_replays_the_first_response() {
    let app = TestApp::start().await;
    for (path, body) in [
        ("/key-handshake", json!({})),
        ("/key-handshake", json!({ "static_token": "poster" })),
        ("/authenticate-key", json!({ "main_key": key(9).to_hex(), "subkeys": [] })),
        ("/jwt/issue", json!({ "target_key": key(9).to_hex(), "duration_hours": 1 })),
        ("/calendar/next-occurrence", json!({ "calendar": "weekly", "from": 7 })),
        ("/login", json!({})),
        ("/verification/sessions", json!({})),
        ("/cashu/mint", json!({ "mint_url": MINT, "unit": UNIT, "amount": 3 })),
        ("/cashu/withdraw", json!({ "mint_url": MINT, "unit": UNIT, "amount": 3 })),
    ] {
        let id = format!("{path}-{}", body.to_string().len());
        let (first, replayed) = answer(&app, path, &id, &body).await;
        assert!(!replayed, "{path}");
        let (open, jobs) = (app.engine.open_streams(), app.tickets.jobs());
        for _ in 0..3 {
            assert_eq!(answer(&app, path, &id, &body).await, (first.clone(), true), "{path}");
        }
        // Quoted, as the draft has it, it is the same key; and spelled otherwise, it is the same body.
        assert_eq!(answer(&app, path, &format!("\"{id}\""), &body).await, (first.clone(), true), "{path}");
        let spelled = app.post(path).header("idempotency-key", &id).header("content-type", "application/json");
        let spelled = spelled.body(serde_json::to_string_pretty(&body).unwrap()).send().await.unwrap();
        assert_eq!(spelled.headers()["idempotency-replayed"], "true");
        assert_eq!((app.engine.open_streams(), app.tickets.jobs()), (open, jobs), "{path}");
        let mut other = body.clone();
        other["other"] = json!(1);
        assert_eq!(code(call(&app, path, &id, &other).await).await.0, 409, "{path}");
    }
}

#[tokio::test]
async fn key_is_bound_to_method_path_and_body() {
    let app = TestApp::start().await;
    let (first, _) = answer(&app, "/key-handshake", "k", &json!({})).await;
    let other = call(&app, "/key-handshake", "k", &json!({ "no_request": true })).await;
    assert_eq!(code(other).await, (409, "idempotency_key_reused".to_owned()));
    // No body at all is another one than `{}`, too.
    let none = app.post("/key-handshake").header("idempotency-key", "k").send().await.unwrap();
    assert_eq!(code(none).await, (409, "idempotency_key_reused".to_owned()));
    assert_eq!(answer(&app, "/key-handshake", "k", &json!({})).await, (first, true));

    // The same key on another endpoint is independent, and so is a request without a key.
    let body = json!({ "main_key": key(9).to_hex(), "subkeys": [] });
    assert!(!answer(&app, "/authenticate-key", "k", &body).await.1);
    let open = app.engine.open_streams();
    app.handshake(json!({})).await;
    assert!(!answer(&app, "/key-handshake", "K", &json!({})).await.1);
    assert_eq!(app.engine.open_streams(), open + 2);
    // Other methods take none.
    let read = app.get("/version").header("idempotency-key", "no good key").send().await.unwrap();
    assert_eq!(read.status(), 200);
}

#[tokio::test]
async fn concurrent_requests_with_one_key_run_once() {
    let app = TestApp::start().await;
    let before = app.engine.open_streams();
    let body = json!({});
    let calls = (0..50).map(|_| answer(&app, "/key-handshake", "at-once", &body));
    let answers = futures_util::future::join_all(calls.map(async |call| call.await)).await;
    assert_eq!(answers.iter().filter(|(_, replayed)| !replayed).count(), 1);
    assert_eq!(answers.into_iter().map(|(answer, _)| answer).collect::<HashSet<_>>().len(), 1);
    assert_eq!(app.engine.open_streams(), before + 1);
}

#[tokio::test]
async fn failed_first_request_lets_the_second_run() {
    let app = TestApp::start().await;
    let before = app.engine.open_streams();
    app.store.hold(COMMITS);
    let (asked, body) = (app.store.calls(REQUESTS), json!({}));
    let second = async {
        // The first has looked for a response, and commits.
        app.store.called_more_than(REQUESTS, asked + 1).await;
        let second = call(&app, "/key-handshake", "k", &body);
        let fails = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(app.store.calls(REQUESTS), asked + 2, "the second waits");
            app.store.fail(COMMITS, 1);
            app.store.hold(&[]);
        };
        tokio::join!(second, fails).0
    };
    let (first, second) = tokio::join!(call(&app, "/key-handshake", "k", &body), second);
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (503, 200));
    assert!(!second.headers().contains_key("idempotency-replayed"), "it did the work");
    assert_eq!(app.engine.open_streams(), before + 1);
}

#[tokio::test]
async fn error_responses_are_not_stored() {
    let app = TestApp::start().await;
    let wrong = json!({ "main_key": "x", "subkeys": [] });
    let right = json!({ "main_key": key(9).to_hex(), "subkeys": [] });
    for _ in 0..2 {
        let refused = call(&app, "/authenticate-key", "k", &wrong).await;
        assert_eq!(code(refused).await, (422, "invalid_request".to_owned()));
    }
    app.store.fail(REQUESTS, usize::MAX);
    assert_eq!(code(call(&app, "/authenticate-key", "k", &right).await).await.0, 503);
    app.store.panic(REQUESTS);
    assert_eq!(code(call(&app, "/authenticate-key", "k", &right).await).await.0, 500);
    app.store.work();
    assert!(!answer(&app, "/authenticate-key", "k", &right).await.1, "mended, and tried again");
    assert!(answer(&app, "/authenticate-key", "k", &right).await.1);
    assert_eq!(code(call(&app, "/nothing", "k", &right).await).await.0, 404);
}

#[tokio::test]
async fn response_is_stored_after_a_client_disconnect() {
    let app = TestApp::start().await;
    let before = app.engine.open_streams();
    for round in 0..4 {
        app.store.hold(REQUESTS);
        let asked = app.store.calls(REQUESTS);
        let mut raw = Raw::connect(&app).await;
        let body =
            format!("Idempotency-Key: {round}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}");
        raw.send(&(head("POST", "/key-handshake") + &body)).await;
        app.store.called_more_than(REQUESTS, asked).await;
        if round % 2 == 0 {
            // It goes while the store is being asked, else while the work is done or after it.
            drop(raw);
            app.store.work();
        } else {
            app.store.work();
            drop(raw);
        }
        let (first, _) = answer(&app, "/key-handshake", &round.to_string(), &json!({})).await;
        assert_eq!(answer(&app, "/key-handshake", &round.to_string(), &json!({})).await, (first, true));
    }
    until(async || app.engine.open_streams() == before + 4).await;
    app.stop().await;
}

#[tokio::test]
async fn invalid_keys_are_refused() {
    let app = TestApp::start().await;
    for wrong in ["", "two words", &"x".repeat(256)] {
        let (status, body) = read(app.post("/key-handshake").header("idempotency-key", wrong)).await;
        assert_eq!((status, pointers(&body)), (422, vec!["/Idempotency-Key"]), "{wrong}");
        assert!(wrong.len() < 3 || !body.to_string().contains(wrong), "{wrong}");
    }
    let twice = app.post("/key-handshake").header("idempotency-key", "a").header("idempotency-key", "a");
    assert_eq!(twice.send().await.unwrap().status(), 422);
    // And bodies are read as they are without a key.
    let refused = app.post("/key-handshake").header("idempotency-key", "a").body("{}").send().await.unwrap();
    assert_eq!(refused.status(), 415);
    let large = json!({ "x": "x".repeat(256 * 1024) });
    assert_eq!(call(&app, "/key-handshake", "a", &large).await.status(), 413);
}
