//! A webhook receiver that is down for an hour: nothing is lost, nothing is out of order, and new events do not wait for old
//! ones.

use crate::common;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use common::{NOW, Running, handshake, open, options, user};
use parking_lot::Mutex;
use usher_engine::event::Event;
use usher_engine::ports::{
    Clock as _, Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore, NewIdempotencyRecord, Posted,
    Retried, StoreError, WebhookSender,
};
use usher_engine::testing::ManualClock;
use usher_engine::{KeyHandshakeRequest, StreamId, UnixMillis};
use usher_store::SqliteStore;

/// An app that responds with 500 until it is repaired, and records its posts with their times.
#[derive(Default)]
struct App {
    panics: AtomicBool,
    mended: AtomicBool,
    refused: Mutex<HashMap<(StreamId, u64), Vec<UnixMillis>>>,
    accepted: Mutex<Vec<(StreamId, u64)>>,
    posts: AtomicUsize,
}

#[async_trait]
impl WebhookSender for App {
    async fn post(&self, stream: StreamId, event: &Event, now: UnixMillis) -> Posted {
        self.posts.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics.swap(false, Ordering::SeqCst), "as if there were a bug");
        if self.mended.load(Ordering::SeqCst) {
            self.accepted.lock().push((stream, event.index));
            return Posted::Accepted { http_status: 204 };
        }
        self.refused.lock().entry((stream, event.index)).or_default().push(now);
        let reason = "the receiver answered 500 Internal Server Error".to_owned();
        Posted::Refused { http_status: Some(500), reason, retry_after: None }
    }
}

async fn door(usher: &Running, name: &str) -> StreamId {
    let request = KeyHandshakeRequest { static_token: Some(name.to_owned()), no_request: None, return_url: None };
    usher.engine.handshakes().start(request, None).await.unwrap().stream_id
}

/// Waits for this while advancing the clock.
async fn until(clock: &ManualClock, what: &str, step: Duration, so: impl AsyncFn() -> bool) {
    let wait = async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(3)).await;
            clock.turn(step);
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap_or_else(|_| panic!("in vain for {what}"));
}

#[tokio::test]
async fn deliveries_after_an_hour_of_500_are_in_order_and_new_ones_immediate() {
    const STREAMS: u8 = 20;
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(App::default()));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 1).await;
    let mut streams = Vec::new();
    for n in 0..STREAMS {
        streams.push(door(&usher, &format!("door-{n}")).await);
        // Three events each: of those that follow the first, none is posted before it is taken.
        for k in 0..3 {
            let number = 1 + n * 3 + k;
            usher.receive(number, &user(number), handshake(&format!("door-{n}"), &[])).await;
        }
    }
    let hour = NOW.plus(Duration::from_secs(3_600));
    until(&usher.clock, "an hour", Duration::from_secs(15), async || usher.clock.now() >= hour).await;
    let refused = app.refused.lock().clone();
    assert_eq!(refused.len(), usize::from(STREAMS), "of each stream the first event, and no other");
    for (event, times) in &refused {
        assert!(streams.contains(&event.0) && event.1 == 0);
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        for (gap, least) in gaps.iter().zip([5, 30, 120, 600, 1_800]) {
            assert!(*gap >= Duration::from_secs(least), "{event:?}: {gaps:?}");
        }
        assert!(times.len() <= 6, "{event:?}: {times:?}");
    }

    // It is repaired: new events do not wait for the next attempt of old ones.
    app.mended.store(true, Ordering::SeqCst);
    let new = door(&usher, "new").await;
    usher.receive(200, &user(200), handshake("new", &[])).await;
    until(&usher.clock, "what is new", Duration::ZERO, async || app.accepted.lock().contains(&(new, 0))).await;

    // An operator can retry at once; all other deliveries follow on their schedule.
    let first = streams[0];
    usher.engine.webhooks().retry(first, 0, None).await.unwrap().expect("it is there");
    until(&usher.clock, "what was asked for", Duration::ZERO, async || app.accepted.lock().contains(&(first, 2))).await;
    let all = usize::from(STREAMS) * 3 + 1;
    until(&usher.clock, "everything", Duration::from_secs(15), async || app.accepted.lock().len() >= all).await;
    until(&usher.clock, "the records", Duration::ZERO, async || {
        usher.engine.webhooks().count().await.unwrap().pending == 0
    })
    .await;
    let accepted = app.accepted.lock().clone();
    assert_eq!(accepted.len(), all, "each once");
    for stream in &streams {
        let indexes: Vec<_> = accepted.iter().filter(|(of, _)| of == stream).map(|(_, index)| *index).collect();
        assert_eq!(indexes, [0, 1, 2]);
    }
    assert!(usher.engine.webhooks().list(DeliveryStatus::Failed, None, 10).await.unwrap().is_empty());
    usher.stop().await;
}

#[tokio::test]
async fn panicking_post_is_repeated_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(App::default()));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 1).await;
    app.mended.store(true, Ordering::SeqCst);
    app.panics.store(true, Ordering::SeqCst);
    let (unlucky, other) = (door(&usher, "unlucky").await, door(&usher, "other").await);
    usher.receive(1, &user(1), handshake("unlucky", &[])).await;
    until(&usher.clock, "the panic", Duration::ZERO, async || app.posts.load(Ordering::SeqCst) == 1).await;
    usher.receive(2, &user(2), handshake("other", &[])).await;
    until(&usher.clock, "the other", Duration::ZERO, async || app.accepted.lock().contains(&(other, 0))).await;
    until(&usher.clock, "it", Duration::from_secs(1), async || app.accepted.lock().contains(&(unlucky, 0))).await;
    usher.stop().await;
}

/// A store that cannot record the result of a post, as on a full disk.
struct Full {
    store: Arc<SqliteStore>,
    full: AtomicBool,
    asked: AtomicUsize,
}

#[async_trait]
impl DeliveryStore for Full {
    async fn next_delivery(&self, stream: StreamId) -> Result<Option<Delivery>, StoreError> {
        self.store.next_delivery(stream).await
    }

    async fn pending_queues(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, UnixMillis)>, StoreError> {
        self.store.pending_queues(after, limit).await
    }

    async fn set_aside_delivery(&self, queue: StreamId, at: UnixMillis) -> Result<Option<(StreamId, u64)>, StoreError> {
        self.store.set_aside_delivery(queue, at).await
    }

    async fn record_attempt(&self, attempt: DeliveryAttempt) -> Result<bool, StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.full.load(Ordering::SeqCst) {
            return Err(StoreError::Failed("the disk is full".into()));
        }
        self.store.record_attempt(attempt).await
    }

    async fn deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.store.deliveries(status, after, limit).await
    }

    async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
        self.store.delivery(stream, index).await
    }

    async fn retry_delivery(
        &self,
        stream: StreamId,
        index: u64,
        at: UnixMillis,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Retried, StoreError> {
        self.store.retry_delivery(stream, index, at, record).await
    }

    async fn count_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        self.store.count_deliveries().await
    }

    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.store.forget_deliveries(before, limit).await
    }
}

#[tokio::test]
async fn unrecorded_result_does_not_cause_another_post() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(App::default()));
    app.mended.store(true, Ordering::SeqCst);
    let full = Arc::new(Full { store: store.clone(), full: AtomicBool::new(true), asked: AtomicUsize::new(0) });
    let usher = Running::start_delivering(store, full.clone(), app.clone()).await;
    let stream = door(&usher, "door").await;
    for n in 1..=2 {
        usher.receive(n, &user(n), handshake("door", &[])).await;
    }
    let hour = NOW.plus(Duration::from_secs(3_600));
    until(&usher.clock, "an hour", Duration::from_secs(2), async || usher.clock.now() >= hour).await;
    assert_eq!(*app.accepted.lock(), [(stream, 0)], "posted once");
    let asked = full.asked.load(Ordering::SeqCst);
    assert!((10..25).contains(&asked), "the store is asked less and less often: {asked}");
    full.full.store(false, Ordering::SeqCst);
    until(&usher.clock, "the next", Duration::from_secs(2), async || app.accepted.lock().len() == 2).await;
    assert_eq!(app.posts.load(Ordering::SeqCst), 2);
    usher.stop().await;
}

#[tokio::test]
async fn downtime_does_not_count_towards_the_retry_period() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(App::default()));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 1).await;
    let stream = door(&usher, "door").await;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    until(&usher.clock, "a refusal", Duration::ZERO, async || app.posts.load(Ordering::SeqCst) == 1).await;
    usher.stop().await;

    let later = NOW.plus(Duration::from_secs(4 * 24 * 3600));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), later, 2).await;
    until(&usher.clock, "a refusal", Duration::ZERO, async || app.posts.load(Ordering::SeqCst) == 2).await;
    until(&usher.clock, "its record", Duration::ZERO, async || {
        store.delivery(stream, 0).await.unwrap().is_some_and(|delivery| delivery.attempts == 2)
    })
    .await;
    assert_eq!(usher.engine.webhooks().is_failing(), Some(true));
    let failed = async || usher.engine.webhooks().count().await.unwrap().failed == 1;
    assert!(!failed().await, "it is tried on");
    // Three days of trying, up to a fifth more.
    until(&usher.clock, "its end", Duration::from_secs(900), failed).await;
    let tried = usher.clock.now().since(later);
    assert!((70..90).contains(&(tried.as_secs() / 3600)), "{tried:?}");
    let posts = app.posts.load(Ordering::SeqCst);
    assert!((15..20).contains(&posts), "by the whole schedule: {posts}");

    app.mended.store(true, Ordering::SeqCst);
    usher.engine.webhooks().retry(stream, 0, None).await.unwrap().expect("it is there");
    until(&usher.clock, "it", Duration::ZERO, async || app.accepted.lock().len() == 1).await;
    assert_eq!(usher.engine.webhooks().is_failing(), Some(false));
    usher.stop().await;
}
