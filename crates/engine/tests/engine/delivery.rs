//! Deliveries to the webhook, and idempotent requests, on a real store.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::paying::subscribe_as;
use common::{NOW, Running, handshake, open, options, user};
use usher_engine::ports::{DeliveryStatus, DeliveryStore as _, IdempotencyKey};
use usher_engine::testing::{FakeApp, Post, Reply};
use usher_engine::{
    IdempotentRequest, KeyHandshakeRequest, KeyHandshakeStarted, RenderedResponse, StartError, StreamId, UnixMillis,
};
use usher_protocol::message::{CloseSubscription, WalletMessage};
use usher_store::SqliteStore;

async fn start(store: &Arc<SqliteStore>, app: &Arc<FakeApp>, now: UnixMillis) -> Running {
    Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), now, now.0).await
}

async fn reusable_handshake(usher: &Running, token: &str) -> StreamId {
    usher.engine.handshakes().start(reusable(token), None).await.unwrap().stream_id
}

fn reusable(token: &str) -> KeyHandshakeRequest {
    KeyHandshakeRequest { static_token: Some(token.to_owned()), no_request: None, return_url: None }
}

#[tokio::test]
async fn every_event_is_delivered_once_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = start(&store, &app, NOW).await;
    let (a, b) = (reusable_handshake(&usher, "a").await, reusable_handshake(&usher, "b").await);
    for n in 1..=10 {
        usher.receive(n, &user(n), handshake(if n % 2 == 0 { "a" } else { "b" }, &[])).await;
    }
    let got = app.accepts(10).await;
    for stream in [a, b] {
        let indexes: Vec<u64> = got.iter().filter(|(of, _)| *of == stream).map(|(_, index)| *index).collect();
        assert_eq!(indexes, [0, 1, 2, 3, 4]);
    }
    // Accepted posts are recorded a moment later; a stop in between would cause another delivery.
    usher.until(Duration::ZERO, "recorded", async || store.count().await == (0, 0)).await;
    usher.stop().await;
}

/// The subscription that an event on the reserved stream is about.
fn id_of(post: &Post) -> Option<String> {
    let data: serde_json::Value = serde_json::from_str(&post.data).unwrap();
    (post.stream == StreamId::SUBSCRIPTIONS).then(|| data["subscription_id"].as_str().unwrap().to_owned())
}

/// The reserved stream has the events of all subscriptions. If the app always refuses those of one subscription, the others
/// are not delayed.
#[tokio::test]
async fn refused_subscription_event_does_not_delay_other_subscriptions() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let app = FakeApp::new(|post| if id_of(post) == Some("bad".to_owned()) { Reply::Refuse } else { Reply::Accept });
    let start = |now| Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), now, now.0);
    let accepted = async |usher: &Running, step: Duration, ids: &[&str]| {
        let accepted = |posts: &[Post]| {
            let accepted = posts.iter().filter(|post| post.reply == Reply::Accept);
            accepted.filter_map(id_of).eq(ids.iter().copied())
        };
        usher.passing(step, app.until("these are accepted", accepted)).await;
    };
    let close = async |usher: &Running, event: u8, id: &str| {
        let close = CloseSubscription { subscription_id: id.to_owned(), reason: None, by_service: false };
        usher.receive(event, &user(1), WalletMessage::CloseSubscription(close)).await;
    };
    let mut usher = start(NOW).await;
    for (event, id) in (1..).zip(["bad", "good", "later"]) {
        subscribe_as(&mut usher, id, event, false, NOW.secs() + 3_600).await;
        while usher.messages.try_recv().is_ok() {}
    }
    close(&usher, 11, "bad").await;
    app.until("it is refused", |posts| posts.iter().any(|post| post.reply == Reply::Refuse)).await;
    close(&usher, 12, "good").await;
    accepted(&usher, Duration::from_millis(100), &["good"]).await;
    usher.stop().await;

    // So it is after a restart; and in the end the refused one comes.
    let usher = start(NOW.plus(Duration::from_secs(60))).await;
    close(&usher, 13, "later").await;
    accepted(&usher, Duration::from_millis(100), &["good", "later"]).await;
    app.set(|_| Reply::Accept);
    accepted(&usher, Duration::from_secs(5), &["good", "later", "bad"]).await;
    assert_eq!(store.count_deliveries().await.unwrap().failed, 0);
    usher.stop().await;
}

#[tokio::test]
async fn refused_event_backs_off_and_delays_only_its_stream() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = start(&store, &app, NOW).await;
    let (bad, good) = (reusable_handshake(&usher, "bad").await, reusable_handshake(&usher, "good").await);
    app.set(
        move |post| if post.stream == bad && post.index == 0 && post.tries < 3 { Reply::Refuse } else { Reply::Accept },
    );
    usher.receive(1, &user(1), handshake("bad", &[])).await;
    usher.receive(2, &user(2), handshake("bad", &[])).await;
    usher.receive(3, &user(3), handshake("good", &[])).await;
    assert_eq!(app.accepts(1).await, [(good, 0)]);
    let got = usher.passing(Duration::from_secs(1), app.accepts(3)).await;
    assert_eq!(got[1..], [(bad, 0), (bad, 1)], "in order");
    assert_eq!(app.posts().len(), 6, "three refusals, three deliveries");
    usher.stop().await;
}

#[tokio::test]
async fn receiver_hanging_on_one_stream_does_not_delay_another() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = start(&store, &app, NOW).await;
    let (stuck, good) = (reusable_handshake(&usher, "stuck").await, reusable_handshake(&usher, "good").await);
    app.set(move |post| if post.stream == stuck { Reply::Hang } else { Reply::Accept });
    usher.receive(1, &user(1), handshake("stuck", &[])).await;
    for n in 2..=6 {
        usher.receive(n, &user(n), handshake("good", &[])).await;
    }
    let got = app.accepts(5).await;
    assert!(got.iter().all(|(stream, _)| *stream == good));
    // What hangs does not keep the engine from stopping, and is posted again after the restart.
    usher.stop().await;
    app.set(|_| Reply::Accept);
    let usher = start(&store, &app, NOW).await;
    assert_eq!(app.accepts(6).await[5], (stuck, 0));
    usher.stop().await;
}

#[tokio::test]
async fn delivery_fails_after_three_days_and_can_be_retried() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = start(&store, &app, NOW).await;
    let stream = reusable_handshake(&usher, "door").await;
    app.set(|_| Reply::Refuse);
    usher.receive(1, &user(1), handshake("door", &[])).await;
    usher
        .until(Duration::from_secs(900), "never given up", async || {
            usher.engine.webhooks().count().await.unwrap().failed != 0
        })
        .await;
    let tried = app.posts().len();
    assert!((9..25).contains(&tried), "{tried}");
    let failed = usher.engine.webhooks().list(DeliveryStatus::Failed, None, 10).await.unwrap();
    assert_eq!((failed[0].event.index, failed[0].last_status), (0, Some(500)));

    app.set(|_| Reply::Accept);
    usher.receive(2, &user(2), handshake("door", &[])).await;
    assert_eq!(app.accepts(1).await, [(stream, 1)]);
    assert!(usher.engine.webhooks().retry(stream, 0, None).await.unwrap().is_some());
    assert!(usher.engine.webhooks().retry(stream, 7, None).await.unwrap().is_none());
    assert_eq!(app.accepts(2).await[1], (stream, 0));
    usher.stop().await;
}

#[tokio::test]
async fn waiting_delivery_can_be_retried_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = start(&store, &app, NOW).await;
    let stream = reusable_handshake(&usher, "door").await;
    app.set(|post| if post.index == 0 && post.tries == 0 { Reply::Refuse } else { Reply::Accept });
    for n in 1..=2 {
        usher.receive(n, &user(n), handshake("door", &[])).await;
    }
    usher.page(stream, 1).await;
    usher
        .until(Duration::ZERO, "recorded", async || {
            usher.engine.webhooks().list(DeliveryStatus::Pending, None, 1).await.unwrap()[0].attempts != 0
        })
        .await;
    // The clock stands still, so nothing would be posted on its own. The second one waits for the first, which is
    // posted as well.
    let retried = usher.engine.webhooks().retry(stream, 1, None).await.unwrap().unwrap();
    assert_eq!((retried.status, retried.attempts), (DeliveryStatus::Pending, 0));
    assert_eq!(app.accepts(2).await, [(stream, 0), (stream, 1)]);
    usher.stop().await;
}

#[tokio::test]
async fn retry_after_is_honored() {
    let dir = tempfile::tempdir().unwrap();
    let spared = Reply::RetryAfter(Duration::from_secs(7200));
    let app = FakeApp::new(move |post| if post.tries == 0 { spared } else { Reply::Accept });
    let store = open(dir.path());
    let usher = start(&store, &app, NOW).await;
    reusable_handshake(&usher, "door").await;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    for _ in 0..70 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        usher.clock.turn(Duration::from_secs(100));
    }
    assert_eq!(app.posts().len(), 1);
    usher.passing(Duration::from_secs(100), app.accepts(1)).await;
    usher.stop().await;
}

#[tokio::test]
async fn pending_deliveries_continue_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = start(&store, &app, NOW).await;
    app.set(|_| Reply::Refuse);
    let mut streams = Vec::new();
    for n in 1..=20 {
        let stream = reusable_handshake(&usher, &format!("door{n}")).await;
        app.set(|_| Reply::Refuse);
        usher.receive(n, &user(n), handshake(&format!("door{n}"), &[])).await;
        streams.push(stream);
    }
    for stream in &streams {
        usher.page(*stream, 0).await;
    }
    usher.stop().await;
    app.set(|_| Reply::Accept);
    let usher = start(&store, &app, NOW.plus(Duration::from_secs(60))).await;
    let mut got = app.accepts(20).await;
    got.sort_unstable();
    streams.sort_unstable();
    assert_eq!(got, streams.iter().map(|stream| (*stream, 0)).collect::<Vec<_>>());
    usher.stop().await;
}

#[tokio::test]
async fn without_a_webhook_deliveries_do_not_accumulate() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = start(&store, &app, NOW).await;
    let stream = reusable_handshake(&usher, "door").await;
    app.set(|_| Reply::Refuse);
    usher.receive(1, &user(1), handshake("door", &[])).await;
    usher.page(stream, 0).await;
    usher.stop().await;
    let later = NOW.plus(Duration::from_secs(4 * 24 * 3600));
    let usher = Running::start_at(store.clone(), options(), later, 2).await;
    usher.receive(2, &user(2), handshake("door", &[])).await;
    usher.page(stream, 1).await;
    // A clock that is days ahead of the last record may be wrong: nothing is removed for a day.
    usher.until(Duration::from_secs(600), "not given up", async || store.count().await == (0, 1)).await;
    usher.stop().await;
}

/// Pending and failed deliveries.
trait Count {
    async fn count(&self) -> (u64, u64);
}

impl Count for SqliteStore {
    async fn count(&self) -> (u64, u64) {
        use usher_engine::ports::DeliveryStore as _;
        let counts = self.count_deliveries().await.unwrap();
        (counts.pending, counts.failed)
    }
}

fn once(key: u8) -> IdempotentRequest<KeyHandshakeStarted> {
    IdempotentRequest {
        key: IdempotencyKey([key; 32]),
        fingerprint: [9; 32],
        render: Box::new(|started| RenderedResponse {
            status: 200,
            media_type: "application/json".to_owned(),
            body: started.stream_id.to_string().into_bytes(),
        }),
    }
}

#[tokio::test]
async fn response_is_stored_with_the_operation_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let usher = Running::start(store.clone()).await;
    let first = usher.engine.handshakes().start(KeyHandshakeRequest::default(), Some(once(1))).await.unwrap();
    let kept = usher.engine.idempotency().get(&IdempotencyKey([1; 32])).await.unwrap().unwrap();
    assert_eq!((kept.status, kept.fingerprint), (200, [9; 32]));
    assert_eq!(kept.body, first.stream_id.to_string().into_bytes());
    let open_before = usher.engine.open_streams();
    let again = usher.engine.handshakes().start(KeyHandshakeRequest::default(), Some(once(1))).await;
    assert!(matches!(again, Err(StartError::Repeated)));
    assert_eq!(usher.engine.open_streams(), open_before, "nothing was started");
    usher.stop().await;

    let usher = Running::start_at(store.clone(), options(), NOW.plus(Duration::from_secs(86_399)), 2).await;
    assert_eq!(
        usher.engine.idempotency().get(&IdempotencyKey([1; 32])).await.unwrap(),
        Some(kept),
        "also after a restart"
    );
    usher.clock.turn(Duration::from_secs(2));
    assert_eq!(usher.engine.idempotency().get(&IdempotencyKey([1; 32])).await.unwrap(), None, "for 24 hours");
    let next_day = usher.engine.handshakes().start(KeyHandshakeRequest::default(), Some(once(1))).await.unwrap();
    assert_ne!(next_day.stream_id, first.stream_id);
    usher.stop().await;
}

#[tokio::test]
async fn response_that_started_nothing_is_stored_too() {
    let usher = Running::new().await;
    let stream = reusable_handshake(&usher, "door").await;
    let same = usher.engine.handshakes().start(reusable("door"), Some(once(1))).await.unwrap();
    assert_eq!(same.stream_id, stream);
    let kept = usher.engine.idempotency().get(&IdempotencyKey([1; 32])).await.unwrap().unwrap();
    assert_eq!(kept.body, stream.to_string().into_bytes());
    usher.stop().await;
}
