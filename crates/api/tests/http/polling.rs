//! Polls and long polls.

use std::time::Duration;

use serde_json::{Value, json};
use usher_engine::ports::Store as _;
use usher_engine::{StreamId, UnixMillis};

use crate::app::{TestApp, key, within};

async fn page(app: &TestApp, target: &str) -> Value {
    app.read(target).await
}

/// A reusable handshake to which `count` users have come.
async fn poster(app: &TestApp, count: u8) -> (String, String) {
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    for user in 1..=count {
        app.scan(&token, key(user)).await;
        let target = format!("/events/{stream}?after={}&wait=60", user - 1);
        assert_eq!(page(app, &target).await["next"], user);
    }
    (stream, token)
}

#[tokio::test]
async fn polls_are_idempotent_and_continue_at_next() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    let empty = app.get(&format!("/events/{stream}")).send().await.unwrap().text().await.unwrap();
    insta::assert_snapshot!(empty, @r#"{"events":[],"next":0,"done":false}"#);
    for user in 1..=3 {
        app.scan(&token, key(user)).await;
        page(&app, &format!("/events/{stream}?after={}&wait=60", user - 1)).await;
    }

    let all = page(&app, &format!("/events/{stream}")).await;
    assert_eq!(all, page(&app, &format!("/events/{stream}?after=0")).await);
    let users: Vec<_> =
        all["events"].as_array().unwrap().iter().map(|event| event["data"]["main_key"].clone()).collect();
    assert_eq!(users, [json!(key(1).to_hex()), json!(key(2).to_hex()), json!(key(3).to_hex())]);
    assert_eq!((all["next"].as_u64(), all["done"].as_bool()), (Some(3), Some(false)));

    let last = page(&app, &format!("/events/{stream}?after=2")).await;
    assert_eq!(last["events"], json!([all["events"][2]]));
    let two = page(&app, &format!("/events/{stream}?limit=2")).await;
    assert_eq!(two["events"], json!([all["events"][0], all["events"][1]]));
    assert_eq!(two["next"], 2);
    let none = page(&app, &format!("/events/{stream}?after=3&other=parameters&are=ignored")).await;
    assert_eq!(none, json!({ "events": [], "next": 3, "done": false }));
    let escaped: String = stream.bytes().map(|byte| format!("%{byte:02X}")).collect();
    assert_eq!(page(&app, &format!("/events/{escaped}")).await["next"], 3);
    let expected = json!({ "events": [], "next": 0, "done": false });
    assert_eq!(page(&app, "/events/%73ubscriptions?wait=0").await, expected, "it always exists");
    // A stream that ends: only the last page is done, and nobody waits for nothing.
    let (stream, token) = app.handshake(json!({})).await;
    assert_eq!(page(&app, &format!("/events/{stream}?wait=0")).await["done"], false);
    app.scan(&token, key(5)).await;
    let first = page(&app, &format!("/events/{stream}?wait=60")).await;
    assert_eq!((first["next"].as_u64(), first["done"].as_bool()), (Some(1), Some(true)));
    let after_it = page(&app, &format!("/events/{stream}?after=1&wait=60")).await;
    assert_eq!(after_it, json!({ "events": [], "next": 1, "done": true }));
}

#[tokio::test]
async fn long_poll_returns_when_an_event_arrives() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({})).await;
    let target = format!("/events/{stream}?wait=60");
    let (one, two, ()) = tokio::join!(page(&app, &target), page(&app, &target), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        app.scan(&token, key(5)).await;
    });
    assert_eq!(one["events"][0]["data"]["main_key"], key(5).to_hex());
    assert_eq!(one, two);
}

#[tokio::test]
async fn long_poll_may_exceed_the_request_timeout() {
    let mut builder = TestApp::builder();
    builder.limits.request_timeout = Duration::from_secs(1);
    let app = builder.start().await;
    let (stream, _) = app.handshake(json!({})).await;
    let before = std::time::Instant::now();
    let answer = page(&app, &format!("/events/{stream}?wait=2")).await;
    assert_eq!(answer, json!({ "events": [], "next": 0, "done": false }));
    assert!(before.elapsed() >= Duration::from_secs(2));
}

#[tokio::test]
async fn long_polls_are_limited() {
    let mut builder = TestApp::builder();
    builder.limits.max_long_polls = 1;
    let app = builder.start().await;
    let (stream, token) = app.handshake(json!({})).await;
    let target = format!("/events/{stream}?wait=60");
    // Whichever of the two finds the place taken tries again, until the long one has it.
    let waiting = async {
        loop {
            let response = app.get(&target).send().await.unwrap();
            if response.status() != 503 {
                return response;
            }
        }
    };
    let probing = async {
        let refused = loop {
            let response = app.get(&format!("/events/{stream}?wait=1")).send().await.unwrap();
            if response.status() == 503 {
                break response;
            }
        };
        check_refusal(refused).await;
        assert_eq!(page(&app, &format!("/events/{stream}")).await["next"], 0, "polls that do not wait go on");
        app.scan(&token, key(5)).await;
    };
    let (waited, ()) = within(futures_util::future::join(waiting, probing)).await;
    assert_eq!(waited.status(), 200);
    assert_eq!(page(&app, &target).await["done"], true, "the place is free again");
}

async fn check_refusal(refused: reqwest::Response) {
    assert_eq!(refused.headers()["retry-after"], "5");
    let text = refused.text().await.unwrap();
    assert!(text.contains("limits.max_long_polls is reached") && text.contains("\"code\":\"overloaded\""), "{text}");
}

#[tokio::test]
async fn unknown_streams_are_404() {
    let app = TestApp::start().await;
    let gone = "/events/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11";
    for path in [
        gone,
        "/events/nothing",
        "/events/00000000-0000-0000-0000-000000000000",
        "/events/%2e%2e%2fversion",
        "/events/%ff%fe",
        "/events/Subscriptions",
        "/events/%00",
    ] {
        for target in [path.to_owned(), format!("{path}?wait=60")] {
            let (status, problem) = app.call("GET", &target, Value::Null).await;
            assert_eq!((status, &problem["code"]), (404, &json!("stream_not_found")), "{target}");
        }
    }
    let response = app.get(gone).header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(response.status(), 404);
}

#[tokio::test]
async fn removed_events_are_always_reported() {
    let app = TestApp::start().await;
    let (stream, _) = poster(&app, 4).await;
    let id: StreamId = stream.parse().unwrap();
    assert_eq!(app.store.remove_events(id, UnixMillis(u64::MAX), 2).await.unwrap(), 2);

    for target in ["", "?after=0", "?wait=1"] {
        let all = page(&app, &format!("/events/{stream}{target}")).await;
        assert_eq!((all["first"].as_u64(), all["next"].as_u64()), (Some(2), Some(4)), "{target}");
        assert_eq!(all["events"][0]["index"], 2);
    }
    for (target, accept) in
        [("?after=1", "application/json"), ("?after=1&wait=60", "application/json"), ("?after=1", "text/event-stream")]
    {
        let request = app.get(&format!("/events/{stream}{target}")).header("accept", accept);
        let response = within(request.send()).await.unwrap();
        assert_eq!(response.status(), 410, "{target} {accept}");
        let body: Value = response.json().await.unwrap();
        assert_eq!((&body["code"], &body["first"]), (&json!("events_removed"), &json!(2)));
        assert!(body["detail"].as_str().unwrap().contains("after=2"), "{body}");
    }
    let resumed = app.get(&format!("/events/{stream}")).header("accept", "text/event-stream");
    assert_eq!(resumed.header("last-event-id", "0").send().await.unwrap().status(), 410);
    let rest = page(&app, &format!("/events/{stream}?after=2")).await;
    assert_eq!((rest.get("first"), rest["events"].as_array().unwrap().len()), (None, 2));

    let feed = app.get(&format!("/events/{stream}")).header("accept", "text/event-stream");
    let mut feed = feed.send().await.unwrap();
    let chunk = within(feed.chunk()).await.unwrap().unwrap();
    assert!(chunk.starts_with(b"event: removed\ndata: {\"first\":2}\n\nid: 2\n"), "{chunk:?}");
    drop(feed);
}
