//! A webhook receiver that hangs on many streams at once does not delay the other streams. With a real store.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use common::{NOW, Running, handshake, open, options};
use parking_lot::Mutex;
use tokio::sync::Notify;
use usher_engine::event::Event;
use usher_engine::ports::{Clock as _, DeliveryStatus, Inbound, Posted, Via, WebhookSender};
use usher_engine::{EngineOptions, KeyHandshakeRequest, StreamId, UnixMillis};
use usher_protocol::{EventId, Keys, SecretKey};
use usher_store::SqliteStore;

/// Posts that run at a time at most, as docs/webhooks.md has it.
const MOST_AT_ONCE: usize = 1_024;

/// What the app does with posts of streams that it has left hanging before.
#[derive(Default)]
struct App {
    healthy: Mutex<HashSet<StreamId>>,
    /// All streams are healthy now.
    sound: AtomicBool,
    released: Notify,
    got: Mutex<Vec<(StreamId, u64)>>,
    posts: AtomicUsize,
    hanging: AtomicUsize,
    most_hanging: AtomicUsize,
}

/// A post that hangs until it is cut off.
struct Hanging<'a>(&'a App);

impl<'a> Hanging<'a> {
    fn begin(app: &'a App) -> Self {
        let count = app.hanging.fetch_add(1, Ordering::SeqCst) + 1;
        app.most_hanging.fetch_max(count, Ordering::SeqCst);
        Self(app)
    }
}

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.hanging.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl WebhookSender for App {
    async fn post(&self, stream: StreamId, event: &Event, _: UnixMillis) -> Posted {
        self.posts.fetch_add(1, Ordering::SeqCst);
        let released = self.released.notified();
        if !self.sound.load(Ordering::SeqCst) && !self.healthy.lock().contains(&stream) {
            let hanging = Hanging::begin(self);
            released.await;
            drop(hanging);
        }
        self.got.lock().push((stream, event.index));
        Posted::Accepted { http_status: 200 }
    }
}

impl App {
    fn hanging(&self) -> usize {
        self.hanging.load(Ordering::SeqCst)
    }

    /// All hanging posts get a response, and from now on every post gets one at once.
    fn recovers(&self) {
        self.sound.store(true, Ordering::SeqCst);
        self.released.notify_waiters();
    }
}

/// An engine, its app, and a count of the messages that wallets sent.
struct Stage {
    usher: Running,
    store: Arc<SqliteStore>,
    app: Arc<App>,
    sent: u16,
    _dir: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (store, app) = (open(dir.path()), Arc::new(App::default()));
        let options = EngineOptions { max_open_streams: 10_000, ..options() };
        let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options, NOW, 1).await;
        Self { usher, store, app, sent: 0, _dir: dir }
    }

    /// A reusable handshake: a stream with an event for each scan.
    async fn door(&self, name: &str) -> StreamId {
        let request = KeyHandshakeRequest { static_token: Some(name.to_owned()), no_request: None, return_url: None };
        self.usher.engine.start_key_handshake(request, None).await.unwrap().stream_id
    }

    /// A user scans this handshake.
    async fn enter(&mut self, name: &str) {
        self.sent += 1;
        let mut id = [1; 32];
        id[..2].copy_from_slice(&self.sent.to_be_bytes());
        let inbound = Inbound {
            event_id: EventId::from_byte_array(id),
            author: Keys::new(SecretKey::from_slice(&id).unwrap()).public_key(),
            created_at: self.usher.clock.now().secs(),
            message: handshake(name, &[]),
            via: Via::default(),
        };
        self.usher.inbox.send(inbound).await.unwrap();
    }

    /// So many streams, with an event each, on all of which the app leaves posts hanging.
    async fn hang_on(&mut self, names: std::ops::Range<usize>) -> Vec<StreamId> {
        let mut streams = Vec::new();
        for n in names.clone() {
            streams.push(self.door(&format!("hangs {n}").replace(' ', "-")).await);
        }
        for n in names {
            self.enter(&format!("hangs-{n}")).await;
        }
        streams
    }

    /// Waits for this while advancing the clock.
    async fn until(&self, what: &str, step: Duration, so: impl Fn(&App) -> bool) {
        let wait = async {
            while !so(&self.app) {
                tokio::time::sleep(Duration::from_millis(3)).await;
                self.usher.clock.turn(step);
            }
        };
        tokio::time::timeout(Duration::from_secs(120), wait).await.unwrap_or_else(|_| panic!("in vain for {what}"));
    }

    async fn pending(&self) -> u64 {
        self.usher.engine.count_webhook_deliveries().await.unwrap().pending
    }
}

const STILL: Duration = Duration::ZERO;
const STEP: Duration = Duration::from_millis(50);

#[tokio::test]
async fn posts_hanging_on_a_thousand_streams_do_not_delay_others() {
    let mut stage = Stage::new().await;
    let good = stage.door("good").await;
    stage.app.healthy.lock().insert(good);
    stage.hang_on(0..1_000).await;
    stage.until("posts that hang", STILL, |app| app.hanging() >= 200).await;
    for n in 0..5 {
        stage.enter("good").await;
        // None of the hanging posts has ended by itself: waiting for one would take for ever.
        stage.until("the healthy stream", STEP, |app| app.got.lock().len() > n).await;
    }
    assert_eq!(*stage.app.got.lock(), (0..5).map(|index| (good, index)).collect::<Vec<_>>());

    // More posts hang, and earlier ones are retried: the others still continue, and the number of running posts is bounded.
    stage.hang_on(1_000..2_000).await;
    for n in 5..20 {
        stage.enter("good").await;
        stage.until("the healthy stream", Duration::from_millis(500), |app| app.got.lock().len() > n).await;
    }
    assert_eq!(*stage.app.got.lock(), (0..20).map(|index| (good, index)).collect::<Vec<_>>());
    let most = stage.app.most_hanging.load(Ordering::SeqCst);
    assert!(most <= MOST_AT_ONCE, "{most}");

    stage.app.recovers();
    stage.until("everything", Duration::from_secs(1), |app| app.got.lock().len() >= 2_020).await;
    let got = stage.app.got.lock().clone();
    let streams: HashSet<_> = got.iter().map(|(stream, _)| *stream).collect();
    assert_eq!((got.len(), streams.len()), (2_020, 2_001), "what was taken is not posted again");
    stage.usher.stop().await;
}

#[tokio::test]
async fn late_responses_are_accepted() {
    let mut stage = Stage::new().await;
    // As many as there are places for posts that last: none is wanted by another.
    stage.hang_on(0..300).await;
    stage.until("posts that hang", STEP, |app| app.hanging() == 300).await;
    for _ in 0..60 {
        stage.usher.clock.turn(Duration::from_millis(300));
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.app.hanging(), 300);
    stage.app.recovers();
    stage.until("everything", STILL, |app| app.got.lock().len() == 300).await;
    assert_eq!(stage.app.posts.load(Ordering::SeqCst), 300, "each was posted once");
    stage.usher.stop().await;
}

#[tokio::test]
async fn cancelled_post_is_retried_and_records_the_reason() {
    let mut stage = Stage::new().await;
    stage.hang_on(0..1_500).await;
    stage.until("posts cut off", STEP, |app| app.posts.load(Ordering::SeqCst) >= 1_400).await;
    let deliveries = stage.usher.engine.webhook_deliveries(DeliveryStatus::Pending, None, 2_000).await.unwrap();
    let cut_off: Vec<_> = deliveries.iter().filter(|delivery| delivery.attempts > 0).collect();
    assert!(!cut_off.is_empty());
    for delivery in cut_off {
        assert_eq!(delivery.last_status, None);
        assert!(delivery.last_error.as_ref().unwrap().contains("within a second"), "{delivery:?}");
    }
    assert_eq!(stage.pending().await, 1_500);
    stage.app.recovers();
    stage.until("everything", Duration::from_secs(1), |app| app.got.lock().len() >= 1_500).await;
    stage.usher.stop().await;
}

#[tokio::test]
async fn hanging_deliveries_do_not_delay_new_ones_after_a_restart() {
    let mut stage = Stage::new().await;
    let good = stage.door("good").await;
    stage.app.healthy.lock().insert(good);
    stage.hang_on(0..1_000).await;
    stage.until("posts that hang", STEP, |app| app.hanging() >= 500).await;
    let Stage { usher, store, sent, _dir, .. } = stage;
    usher.stop().await;

    let app = Arc::new(App::default());
    app.healthy.lock().insert(good);
    let later = NOW.plus(Duration::from_secs(3600));
    let options = EngineOptions { max_open_streams: 10_000, ..options() };
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options, later, 2).await;
    let mut stage = Stage { usher, store, app, sent, _dir };
    stage.until("posts that hang", STILL, |app| app.hanging() >= 60).await;
    for n in 0..5 {
        stage.enter("good").await;
        // The clock stands still: no post is cut off.
        stage.until("the healthy stream", STILL, |app| app.got.lock().len() > n).await;
    }
    stage.app.recovers();
    stage.until("everything", Duration::from_secs(1), |app| app.got.lock().len() >= 1_005).await;
    drop(stage.store);
    stage.usher.stop().await;
}
