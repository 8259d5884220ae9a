//! Server-sent events.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::{TestApp, key, pointers, read, until, within};

/// Reads an event stream piece by piece.
struct Stream {
    response: reqwest::Response,
    unread: String,
}

impl Stream {
    async fn open(app: &TestApp, target: &str, last_event_id: Option<&str>) -> Self {
        let mut request = app.sse(target);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["x-request-id"], "test");
        Self { response, unread: String::new() }
    }

    /// The next block, without its empty line; `None` at the end.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.unread.split_once("\n\n") {
                let block = block.to_owned();
                self.unread = rest.to_owned();
                return Some(block);
            }
            let chunk = within(self.response.chunk()).await.unwrap()?;
            self.unread.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next event: id, type, data.
    async fn event(&mut self) -> Option<(String, String, Value)> {
        loop {
            let block = self.block().await?;
            if block.starts_with(':') {
                continue;
            }
            let field = |name: &str| {
                let prefix = format!("{name}: ");
                block.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap().to_owned()
            };
            return Some((field("id"), field("event"), serde_json::from_str(&field("data")).unwrap()));
        }
    }
}

#[tokio::test]
async fn events_arrive_live_and_the_response_ends_with_the_stream() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({})).await;
    let mut feed = Stream::open(&app, &format!("/events/{stream}"), None).await;
    app.scan(&token, key(9)).await;
    let (id, event, data) = feed.event().await.unwrap();
    assert_eq!((id.as_str(), event.as_str()), ("0", "KeyHandshake"));
    let page = app.read(&format!("/events/{stream}")).await;
    assert_eq!(data, page["events"][0], "the same event, whichever way it is read");
    assert!(feed.event().await.is_none());
    let again = app.sse(&format!("/events/{stream}")).header("last-event-id", "0");
    assert_eq!(again.send().await.unwrap().status(), 204, "an EventSource connects no more");
}

#[tokio::test]
async fn static_stream_resumes_after_the_last_event_id() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    let target = format!("/events/{stream}");
    let mut feed = Stream::open(&app, &target, None).await;
    for user in 1..=3_u8 {
        app.scan(&token, key(user)).await;
        let (id, _, data) = feed.event().await.unwrap();
        assert_eq!(id, (user - 1).to_string());
        assert_eq!(data["data"]["main_key"], key(user).to_hex());
    }
    drop(feed);

    app.come(&stream, &token, 4).await;
    // Last-Event-ID wins over `after`; before its first event the last one of an EventSource is empty.
    for (query, last, expected) in
        [("", Some("0"), "1 2 3"), ("?after=2", None, "2 3"), ("?after=0", Some("2"), "3"), ("?after=2", Some(""), "2")]
    {
        let mut feed = Stream::open(&app, &format!("{target}{query}"), last).await;
        for id in expected.split(' ') {
            assert_eq!(feed.event().await.unwrap().0, id, "{query} {last:?}");
        }
    }
}

#[tokio::test]
async fn idle_stream_sends_comments() {
    let (comment, call) = (Duration::from_millis(250), Duration::from_secs(2));
    let app = TestApp::with(|of| (of.limits.keep_alive, of.limits.request_timeout) = (comment, call)).await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    let mut feed = Stream::open(&app, &format!("/events/{stream}"), None).await;
    // Ten comments take longer than a call may.
    for _ in 0..10 {
        assert_eq!(feed.block().await.unwrap(), ":");
    }
    app.scan(&token, key(1)).await;
    assert_eq!(feed.event().await.unwrap().0, "0");
}

#[tokio::test]
async fn accept_header_selects_sse() {
    let app = TestApp::start().await;
    let (stream, _) = app.handshake(json!({ "static_token": "poster" })).await;
    let target = format!("/events/{stream}");
    for (accept, streams) in [
        ("text/event-stream", true),
        ("application/json, text/event-stream", true),
        ("Text/Event-Stream;q=0.5, */*", true),
        ("*/*", false),
        ("text/*", false),
        ("application/json", false),
        ("text/event-stream;q=0, */*", false),
        ("text/event-stream-like", false),
        ("", false),
    ] {
        let response = app.get(&target).header("accept", accept).send().await.unwrap();
        let expected = if streams { "text/event-stream" } else { "application/json" };
        assert_eq!(response.headers()["content-type"], expected, "{accept}");
    }
}

#[tokio::test]
async fn invalid_last_event_id_is_reported() {
    let app = TestApp::start().await;
    // An invalid one is refused for every way of reading; a valid one has an effect for event streams only.
    for (id, accept) in [("x", "text/event-stream"), ("9007199254740992", "text/event-stream"), ("x", "*/*")] {
        let request = app.get("/events/subscriptions").header("accept", accept).header("last-event-id", id);
        let (status, problem) = read(request).await;
        assert_eq!((status, pointers(&problem)), (422, vec!["/Last-Event-ID"]), "{id}");
    }
    let (_, page) = read(app.get("/events/subscriptions").header("last-event-id", "7")).await;
    assert_eq!(page["next"], 0);
}

#[tokio::test]
async fn event_streams_are_limited_and_permits_are_released() {
    let keep_alive = Duration::from_millis(50);
    let app = TestApp::with(|of| (of.limits.max_event_streams, of.limits.keep_alive) = (2, keep_alive)).await;
    let (stream, _) = app.poster("poster", 0).await;
    let one = Stream::open(&app, &format!("/events/{stream}"), None).await;
    let mut live = Stream::open(&app, "/events", None).await;
    for path in ["/events", &format!("/events/{stream}")] {
        let refused = app.sse(path).send().await.unwrap();
        assert_eq!(refused.headers()["retry-after"], "5");
        assert!(refused.status() == 503 && refused.text().await.unwrap().contains("\"code\":\"overloaded\""));
    }
    for _ in 0..3 {
        assert_eq!(live.block().await.as_deref(), Some(":"), "a comment keeps it alive");
    }
    drop(one);
    until(async || app.sse("/events").send().await.unwrap().status() == 200).await;
}

#[tokio::test]
async fn live_feed_shows_new_events_of_every_stream() {
    let app = TestApp::start().await;
    let (_, token) = app.handshake(json!({})).await;
    let mut early = Stream::open(&app, "/events", Some("subscriptions:7")).await;
    assert_eq!(early.block().await.as_deref(), Some(":"), "it has begun");
    app.scan(&token, key(9)).await;
    let (first_id, ..) = early.event().await.unwrap();

    let mut late = Stream::open(&app, "/events", None).await;
    assert_eq!(late.block().await.as_deref(), Some(":"));
    let (stream, challenge) = app.authentication(key(9)).await;
    app.approve(&challenge, key(9), Some("a session")).await;
    let (id, event, data) = late.event().await.unwrap();
    assert_eq!((id.as_str(), event.as_str()), (format!("{stream}:0").as_str(), "StatusUpdate"));
    assert_ne!(id, first_id, "what was before is not shown");
    let mut expected = app.read(&format!("/events/{stream}")).await["events"][0].clone();
    expected["stream_id"] = json!(stream);
    assert_eq!(data, expected, "the event and its stream, as a webhook has it");
    assert_eq!(early.event().await.unwrap().2, data, "everybody sees it");
    app.stop().await;
    assert!(early.event().await.is_none() && late.event().await.is_none(), "they end when the service stops");
}
