//! Polls and long polls.

use std::time::Duration;

use serde_json::{Value, json};
use usher_engine::ports::Store as _;
use usher_engine::{StreamId, UnixMillis};

use crate::app::{TestApp, key, read, within};

#[tokio::test]
async fn polls_are_idempotent_and_continue_at_next() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    let empty = app.get(&format!("/events/{stream}")).send().await.unwrap().text().await.unwrap();
    insta::assert_snapshot!(empty, @r#"{"events":[],"next":0,"done":false}"#);
    for user in 1..=3 {
        app.come(&stream, &token, user).await;
    }
    let all = app.read(&format!("/events/{stream}")).await;
    assert_eq!(all, app.read(&format!("/events/{stream}?after=0")).await);
    let users = [0, 1, 2].map(|nth| all["events"][nth]["data"]["main_key"].clone());
    assert_eq!(users, [1, 2, 3].map(|user| key(user).to_hex()));
    assert_eq!((all["next"].as_u64(), all["done"].as_bool()), (Some(3), Some(false)));

    let last = app.read(&format!("/events/{stream}?after=2")).await;
    assert_eq!(last["events"], json!([all["events"][2]]));
    let two = app.read(&format!("/events/{stream}?limit=2")).await;
    assert_eq!(two["events"], json!([all["events"][0], all["events"][1]]));
    assert_eq!(two["next"], 2);
    let none = app.get(&format!("/events/{stream}?after=99&since=1")).send().await.unwrap();
    assert_eq!(none.headers()["usher-ignored"], "/since");
    let none: Value = none.json().await.unwrap();
    assert_eq!(none, json!({ "events": [], "next": 3, "done": false }), "never beyond the end");
    let escaped: String = stream.bytes().map(|byte| format!("%{byte:02X}")).collect();
    assert_eq!(app.read(&format!("/events/{escaped}")).await["next"], 3);
    let expected = json!({ "events": [], "next": 0, "done": false });
    assert_eq!(app.read("/events/%73ubscriptions?wait=0").await, expected, "it always exists");
    // A finished stream: its last page is marked as done, and a poll beyond it returns immediately.
    let (stream, token) = app.handshake(json!({})).await;
    assert_eq!(app.read(&format!("/events/{stream}?wait=0")).await["done"], false);
    app.scan(&token, key(5)).await;
    let first = app.read(&format!("/events/{stream}?wait=60")).await;
    assert_eq!((first["next"].as_u64(), first["done"].as_bool()), (Some(1), Some(true)));
    let after_it = app.read(&format!("/events/{stream}?after=1&wait=60")).await;
    assert_eq!(after_it, json!({ "events": [], "next": 1, "done": true }));
}

#[tokio::test]
async fn long_poll_returns_when_an_event_arrives() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({})).await;
    let target = format!("/events/{stream}?wait=60");
    let (one, two, ()) = tokio::join!(app.read(&target), app.read(&target), async {
        app.metric("usher_http_long_polls 2").await;
        app.scan(&token, key(5)).await;
    });
    assert_eq!(one["events"][0]["data"]["main_key"], key(5).to_hex());
    assert_eq!(one, two);
}

#[tokio::test]
async fn long_poll_may_exceed_the_request_timeout() {
    let app = TestApp::with(|of| of.limits.request_timeout = Duration::from_secs(3)).await;
    let (stream, _) = app.handshake(json!({})).await;
    let before = std::time::Instant::now();
    let answer = app.read(&format!("/events/{stream}?wait=4")).await;
    assert_eq!(answer, json!({ "events": [], "next": 0, "done": false }));
    assert!(before.elapsed() >= Duration::from_secs(4));
}

#[tokio::test]
async fn long_polls_are_limited() {
    let app = TestApp::with(|of| of.limits.max_long_polls = 1).await;
    let (stream, token) = app.handshake(json!({})).await;
    let target = format!("/events/{stream}?wait=60");
    let waiting = app.read(&target);
    let probing = async {
        app.metric("usher_http_long_polls 1").await;
        let refused = app.get(&format!("/events/{stream}?wait=1")).send().await.unwrap();
        assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].as_bytes()), (503, &b"5"[..]));
        let text = refused.text().await.unwrap();
        assert!(text.contains("limits.max_long_polls is reached") && text.contains("\"overloaded\""), "{text}");
        assert_eq!(app.read(&format!("/events/{stream}")).await["next"], 0, "polls that do not wait go on");
        app.scan(&token, key(5)).await;
    };
    futures_util::future::join(waiting, probing).await;
    assert_eq!(app.read(&target).await["done"], true, "the place is free again");
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
            app.refused("GET", &target, Value::Null, (404, "stream_not_found")).await;
        }
    }
    let response = app.sse(gone).send().await.unwrap();
    assert_eq!(response.status(), 404);
}

#[tokio::test]
async fn removed_events_are_always_reported() {
    let app = TestApp::start().await;
    let (stream, _) = app.poster("poster", 4).await;
    let id: StreamId = stream.parse().unwrap();
    assert_eq!(app.store.remove_events(id, UnixMillis(u64::MAX), 2).await.unwrap(), 2);

    for target in ["", "?after=0", "?wait=1"] {
        let all = app.read(&format!("/events/{stream}{target}")).await;
        assert_eq!((all["first"].as_u64(), all["next"].as_u64()), (Some(2), Some(4)), "{target}");
        assert_eq!(all["events"][0]["index"], 2);
    }
    for (target, accept) in
        [("?after=1", "application/json"), ("?after=1&wait=60", "application/json"), ("?after=1", "text/event-stream")]
    {
        let request = app.get(&format!("/events/{stream}{target}")).header("accept", accept);
        let (status, body) = within(read(request)).await;
        assert_eq!((status, &body["code"], &body["first"]), (410, &json!("events_removed"), &json!(2)), "{target}");
        assert!(body["detail"].as_str().unwrap().contains("after=2"), "{body}");
    }
    let resumed = app.sse(&format!("/events/{stream}"));
    assert_eq!(resumed.header("last-event-id", "0").send().await.unwrap().status(), 410);
    let rest = app.read(&format!("/events/{stream}?after=2")).await;
    assert_eq!((rest.get("first"), rest["events"].as_array().unwrap().len()), (None, 2));

    let mut feed = app.sse(&format!("/events/{stream}")).send().await.unwrap();
    let chunk = within(feed.chunk()).await.unwrap().unwrap();
    assert!(chunk.starts_with(b"event: removed\ndata: {\"first\":2}\n\nid: 2\n"), "{chunk:?}");
    drop(feed);
}
