//! Readers of one stream, with every API for events, and the app's webhook, while the service is killed repeatedly: each continues
//! at its index, and has seen each event once; the webhook has each at least once, in order.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use parking_lot::Mutex;
use rand::Rng as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use usher_testing::soak;

use crate::harness::{Api, App, CallError, Event, HandmadeWallet, LONG, Reply, Sse, TestTasks, TestUsher, until};

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Event>>>);

impl Seen {
    /// The index of the first event that it has not seen.
    fn next(&self) -> u64 {
        self.0.lock().len() as u64
    }

    fn see(&self, event: Event) {
        assert_eq!(event.index, self.next(), "each once, in order");
        self.0.lock().push(event);
    }
}

/// Before it is tried again: the service is down.
async fn patience() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

async fn by_long_poll(api: Api, stream: String, seen: Seen) {
    loop {
        match api.try_events(&stream, seen.next(), 5).await {
            Ok(page) => page.events.into_iter().for_each(|event| seen.see(event)),
            Err(CallError::Network(_)) => patience().await,
            Err(error) => panic!("{error:?}"),
        }
    }
}

async fn by_server_sent_events(api: Api, stream: String, seen: Seen) {
    loop {
        let mut request = api.http.get(format!("{}/events/{stream}", api.base)).bearer_auth(&api.token);
        request = request.header("accept", "text/event-stream");
        if let Some(last) = seen.next().checked_sub(1) {
            request = request.header("last-event-id", last);
        }
        let Ok(answer) = request.send().await else {
            patience().await;
            continue;
        };
        assert_eq!(answer.status(), 200);
        let mut feed = Sse::new(answer);
        while let Some(event) = feed.next().await {
            seen.see(event);
        }
    }
}

async fn by_websocket(api: Api, stream: String, seen: Seen) {
    loop {
        let _ended = conversation(&api, &stream, &seen).await;
        patience().await;
    }
}

/// One connection, to its end.
async fn conversation(api: &Api, stream: &str, seen: &Seen) -> Option<()> {
    let address = api.base.strip_prefix("http://").unwrap();
    let connection = TcpStream::connect(address).await.ok()?;
    let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", api.token).parse().unwrap());
    let (mut socket, _) = client_async(request, connection).await.ok()?;
    let subscribe = json!({ "id": "1", "cmd": "subscribe", "params": { "stream_id": stream, "after": seen.next() } });
    socket.send(Message::text(subscribe.to_string())).await.ok()?;
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        let mut said: Value = serde_json::from_str(&text).unwrap();
        match said["type"].as_str().unwrap() {
            "success" => assert_eq!(said["id"], "1"),
            "event" => {
                said["type"] = said["event_type"].take();
                seen.see(serde_json::from_value(said).unwrap());
            }
            other => panic!("{other}: {text}"),
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_crashes_every_reader_sees_each_event_once() {
    let kills = soak::repetitions(6);
    // Some posts fail at first, some take long enough to be cut off by a kill.
    let app = App::start(|post, before| match (post.index(), before) {
        (1, 0) => Reply::Status(500),
        (4, 0) => Reply::Close,
        (7 | 11 | 15, _) => Reply::Slow(Duration::from_millis(150)),
        _ => Reply::Ok,
    })
    .await;
    let (relay, mut usher) = TestUsher::builder().set("WEBHOOK__URL", app.url()).start_at_relay().await;
    let api = usher.api();
    let reusable = api.handshake(json!({ "static_token": "door" })).await;
    let test_tasks = TestTasks::default();
    let readers = [Seen::default(), Seen::default(), Seen::default()];
    let [poll, feed, socket] = readers.clone();
    test_tasks.spawn(by_long_poll(api.clone(), reusable.stream.clone(), poll));
    test_tasks.spawn(by_server_sent_events(api.clone(), reusable.stream.clone(), feed));
    test_tasks.spawn(by_websocket(api.clone(), reusable.stream.clone(), socket));

    let mut total = 0;
    for _ in 0..kills {
        for _ in 0..8 {
            relay.inject(HandmadeWallet::new().handshake(&reusable.url));
        }
        // In the middle of them, as often as not.
        tokio::time::sleep(Duration::from_millis(rand::rng().random_range(0..60))).await;
        let before = relay.metrics().reqs;
        usher.restart().await;
        relay.wait_for(LONG, |metrics| metrics.reqs > before).await.expect("the service subscribes again");
        test_tasks.check();
        let (events, _) = api.events(&reusable.stream).await;
        assert!(events.len() >= total, "nothing that was read is gone");
        total = events.len();
        // So that each life has some events.
        relay.inject(HandmadeWallet::new().handshake(&reusable.url));
        total = api.at_least(&reusable.stream, total + 1).await.len();
    }
    until("reader that has seen all", async || {
        test_tasks.check();
        let (events, _) = api.events(&reusable.stream).await;
        (events.len() >= kills && readers.iter().all(|seen| *seen.0.lock() == events)).then_some(())
    })
    .await;
    let (events, _) = api.events(&reusable.stream).await;
    app.takes(&reusable.stream, events.len()).await;
    let posted = |event: &Event| {
        json!({ "stream_id": reusable.stream, "index": event.index, "type": event.kind, "timestamp": event.timestamp,
            "data": event.data })
    };
    assert_eq!(app.accepted(&reusable.stream), events.iter().map(posted).collect::<Vec<_>>());
    app.assert_order();
}
