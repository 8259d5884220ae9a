//! Watching event streams.

use futures_util::SinkExt as _;
use serde_json::{Value, json};
use usher_engine::UnixMillis;
use usher_engine::ports::Store as _;

use super::client::Client;
use crate::app::{TestApp, key};

#[tokio::test]
async fn events_arrive_live_and_the_end_is_announced() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({})).await;
    let mut client = Client::open(&app).await;
    client.subscribe(&stream, 0).await;
    app.scan(&token, key(9)).await;
    let pushed = client.hear().await;
    let polled = &app.read(&format!("/events/{stream}")).await["events"][0];
    let expected = json!({
        "type": "event", "stream_id": stream, "index": polled["index"], "event_type": polled["type"],
        "timestamp": polled["timestamp"], "data": polled["data"],
    });
    assert_eq!(pushed, expected, "the same event, whichever way it is read");
    assert_eq!(client.hear().await, json!({ "type": "done", "stream_id": stream, "next": 1 }));

    // Later subscribers get the same end.
    for (after, events) in [(0, 1), (1, 0), (7, 0)] {
        client.subscribe(&stream, after).await;
        for _ in 0..events {
            client.event(&stream).await;
        }
        assert_eq!(client.hear().await["type"], "done");
    }
}

#[tokio::test]
async fn watch_resumes_after_the_last_index() {
    let app = TestApp::start().await;
    let (stream, token) = app.poster("poster", 3).await;
    let mut client = Client::open(&app).await;
    client.subscribe(&stream, 0).await;
    for index in 0..3 {
        assert_eq!(client.event(&stream).await.0, index);
    }
    drop(client);
    app.come(&stream, &token, 4).await;

    let mut client = Client::open(&app).await;
    client.subscribe(&stream, 2).await;
    assert_eq!(client.event(&stream).await.0, 2);
    assert_eq!(client.event(&stream).await, (3, app_event(4)));
    app.scan(&token, key(5)).await;
    assert_eq!(client.event(&stream).await, (4, app_event(5)));

    // Without `after`: all of it. Another subscription to the same stream takes the place of the first.
    client.say(json!({ "id": "s", "cmd": "subscribe", "params": { "stream_id": stream } })).await;
    assert_eq!(client.hear().await["id"], "s");
    for index in 0..5 {
        assert_eq!(client.event(&stream).await.0, index);
    }
    app.scan(&token, key(6)).await;
    assert_eq!(client.event(&stream).await.0, 5);
    client.done("ping", json!({})).await;
}

fn app_event(user: u8) -> Value {
    json!({ "main_key": key(user).to_hex(), "preferred_relays": ["wss://user.example"] })
}

#[tokio::test]
async fn no_events_arrive_after_unsubscribe() {
    let app = TestApp::start().await;
    let (stream, token) = app.poster("poster", 250).await;
    let mut client = Client::open(&app).await;
    client.subscribe(&stream, 5).await;
    for index in 5..250 {
        assert_eq!(client.event(&stream).await.0, index, "more than one page");
    }
    client.subscribe(&stream, 0).await;
    // In the midst of it.
    client.say(json!({ "id": "u", "cmd": "unsubscribe", "params": { "stream_id": stream } })).await;
    loop {
        let said = client.hear().await;
        if said["id"] == "u" {
            assert_eq!((&said["type"], &said["data"]), (&json!("success"), &json!({})));
            break;
        }
        assert_eq!(said["type"], "event");
    }
    app.come(&stream, &token, 251).await;
    // What there is not is not there any more, either.
    for stream in [&stream, "subscriptions", "nonsense"] {
        client.done("unsubscribe", json!({ "stream_id": stream })).await;
    }
    client.subscribe(&stream, 250).await;
    assert_eq!(client.event(&stream).await.0, 250);
}

#[tokio::test]
async fn each_of_several_subscriptions_to_one_stream_gets_its_response() {
    let app = TestApp::start().await;
    let (stream, _) = app.poster("poster", 3).await;
    let mut client = Client::open(&app).await;
    let unknown = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11";
    // All at once, so that some are replaced before they had their turn.
    let (on, off, known) = ("subscribe", "unsubscribe", &*stream);
    let commands = [(on, known), (on, known), (off, known), (on, known), (on, unknown), (on, unknown)];
    for round in 0..50 {
        let mut expected = Vec::new();
        for (number, (cmd, stream)) in commands.into_iter().enumerate() {
            let id = format!("{round}-{number}");
            client.feed(json!({ "id": id, "cmd": cmd, "params": { "stream_id": stream, "after": 3 } })).await;
            expected.push((id, if stream == unknown { "error" } else { "success" }.to_owned()));
        }
        client.stream.flush().await.unwrap();
        let mut answered = Vec::new();
        for _ in &expected {
            let said = client.hear().await;
            answered.push((said["id"].as_str().unwrap().to_owned(), said["type"].as_str().unwrap().to_owned()));
        }
        answered.sort();
        assert_eq!(answered, expected);
    }
}

#[tokio::test]
async fn watches_are_limited_and_permits_are_released() {
    let app = TestApp::with(|of| (of.limits.subscriptions_per_socket, of.limits.max_subscriptions) = (2, 3)).await;
    let mut streams = Vec::new();
    for number in 0..4 {
        streams.push(app.poster(&format!("poster-{number}"), 0).await.0);
    }
    let mut one = Client::open(&app).await;
    one.subscribe(&streams[0], 0).await;
    one.subscribe(&streams[1], 0).await;
    let refused = one.refused("subscribe", json!({ "stream_id": streams[2] }), "overloaded").await;
    assert_eq!(refused["retry_after"], 5);
    // Subscribing to the same stream again needs no further permit.
    one.subscribe(&streams[1], 0).await;

    let mut two = Client::open(&app).await;
    two.subscribe(&streams[0], 0).await;
    two.refused("subscribe", json!({ "stream_id": streams[2] }), "overloaded").await;
    one.done("unsubscribe", json!({ "stream_id": streams[0] })).await;
    two.subscribe(&streams[2], 0).await;
    drop(one);
    let mut three = Client::open(&app).await;
    while three.ask("subscribe", json!({ "stream_id": streams[3] })).await["type"] != "success" {}
}

#[tokio::test]
async fn removed_events_are_reported_to_a_watch() {
    let app = TestApp::start().await;
    let (stream, _) = app.poster("poster", 3).await;
    assert_eq!(app.store.remove_events(stream.parse().unwrap(), UnixMillis(u64::MAX), 2).await.unwrap(), 2);
    let mut client = Client::open(&app).await;
    let begun = client.ask("subscribe", json!({ "stream_id": stream })).await;
    assert_eq!(begun["data"], json!({ "stream_id": stream, "first": 2 }));
    assert_eq!(client.event(&stream).await.0, 2);
    let refused = client.refused("subscribe", json!({ "stream_id": stream, "after": 1 }), "events_removed").await;
    assert_eq!(refused["error"]["first"], 2);
    client.subscribe(&stream, 2).await;
    assert_eq!(client.event(&stream).await.0, 2);
}
