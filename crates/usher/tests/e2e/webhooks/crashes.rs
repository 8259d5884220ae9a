//! Killed at random instants under load: whatever was acknowledged reaches the app.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use usher_test_tools::soak;

use super::webhook_receiver::{App, Reply};
use super::{assert_complete, service};
use crate::crash::dice;
use crate::harness::{Api, CallError, HandmadeWallet, Handshake, LONG, TestTasks};

/// How long handshakes live, in seconds.
const TTL: u64 = 6;

/// Streams at least.
const STREAMS: usize = 60;

#[derive(Clone)]
struct Load {
    api: Api,
    relay: Arc<usher_faults::relay::QuirkyRelay>,
    reusable: Handshake,
    streams: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

impl Load {
    async fn run(self, seed: u64) {
        let mut dice = StdRng::seed_from_u64(seed);
        while !self.over.load(Ordering::Relaxed) {
            match self.api.try_handshake(&json!({})).await {
                Ok(handshake) => {
                    self.streams.lock().push(handshake.stream.clone());
                    let handmade = HandmadeWallet::new();
                    if dice.random_bool(0.8) {
                        self.relay.inject(handmade.handshake(&handshake.url));
                    }
                    if dice.random_bool(0.5) {
                        self.relay.inject(handmade.handshake(&self.reusable.url));
                    }
                }
                Err(CallError::Network(_)) => {}
                Err(error) => panic!("a start call was refused: {error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(dice.random_range(5..60))).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_under_load_every_event_reaches_the_app() {
    let mut dice = dice();
    // Some posts fail at first, some take long enough to be cut off by a kill.
    let app = App::start(|post, before| {
        let letter = post.header("x-service-event-id").bytes().map(u32::from).sum::<u32>() % 20;
        // On the long stream, each refusal delays all that follow.
        match (letter, before + usize::try_from(post.index()).unwrap()) {
            (0, 0) => Reply::Status(500, ""),
            (1, 0) => Reply::Close,
            (2..=5, _) => Reply::Slow(Duration::from_millis(150)),
            _ => Reply::Ok,
        }
    })
    .await;
    let (relay, mut usher) = service(&app.url(), |builder| builder.set("HANDSHAKE__TTL_SECONDS", TTL)).await;
    let api = usher.api();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    let load = Load {
        api: api.clone(),
        relay: Arc::new(relay),
        reusable: reusable.clone(),
        streams: Arc::new(Mutex::new(vec![reusable.stream.clone()])),
        over: Arc::default(),
    };
    let test_tasks = TestTasks::default();
    for _ in 0..4 {
        test_tasks.spawn(load.clone().run(dice.random()));
    }
    for _ in 0..soak::repetitions(8) {
        tokio::time::sleep(Duration::from_millis(dice.random_range(0..1500))).await;
        usher.restart().await;
        test_tasks.check();
    }
    let deadline = Instant::now() + LONG;
    while load.streams.lock().len() < STREAMS {
        assert!(Instant::now() < deadline, "there is no load");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    load.over.store(true, Ordering::Relaxed);
    test_tasks.ended(LONG).await;

    let streams = load.streams.lock().clone();
    let mut count = 0;
    for stream in &streams {
        let events = if *stream == reusable.stream { api.events(stream).await.0 } else { api.finished(stream).await };
        app.takes(stream, events.len()).await;
        count += events.len();
    }
    assert_complete(&api, &app, &streams).await;
    let posts = app.posts().len();
    println!("{} streams, {count} events, {posts} posts", streams.len());
    assert!(count > 40, "there was a load: {count}");
}
