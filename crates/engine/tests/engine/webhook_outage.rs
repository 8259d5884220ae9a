//! A webhook receiver that is down for an hour: nothing is lost, nothing is out of order, and new events do not wait for old
//! ones.

use crate::common;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use common::{NOW, Running, handshake, open, options, user};
use usher_engine::ports::{Clock as _, DeliveryStatus, DeliveryStore as _};
use usher_engine::testing::{FakeApp, FaultyStore, ManualClock, Methods, Reply};
use usher_engine::{KeyHandshakeRequest, StreamId};

/// What records the result of a post.
const RECORDS: Methods = &["record_attempt"];

async fn reusable_handshake(usher: &Running, name: &str) -> StreamId {
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
    tokio::time::timeout(Duration::from_secs(180), wait).await.unwrap_or_else(|_| panic!("in vain for {what}"));
}

#[tokio::test]
async fn deliveries_after_an_hour_of_500_are_in_order_and_new_ones_immediate() {
    const STREAMS: u8 = 20;
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), FakeApp::new(|_| Reply::Refuse));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 1).await;
    let mut streams = Vec::new();
    for n in 0..STREAMS {
        streams.push(reusable_handshake(&usher, &format!("door-{n}")).await);
        // Three events each: of those that follow the first, none is posted before it is taken.
        for k in 0..3 {
            let number = 1 + n * 3 + k;
            usher.receive(number, &user(number), handshake(&format!("door-{n}"), &[])).await;
        }
    }
    let hour = NOW.plus(Duration::from_secs(3_600));
    until(&usher.clock, "an hour", Duration::from_secs(15), async || usher.clock.now() >= hour).await;
    let mut refused = HashMap::<_, Vec<_>>::new();
    for post in app.posts() {
        refused.entry((post.stream, post.index)).or_default().push(post.at);
    }
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
    app.set(|_| Reply::Accept);
    let new = reusable_handshake(&usher, "new").await;
    usher.receive(200, &user(200), handshake("new", &[])).await;
    until(&usher.clock, "what is new", Duration::ZERO, async || app.accepted().contains(&(new, 0))).await;

    // An operator can retry at once; all other deliveries follow on their schedule.
    let first = streams[0];
    usher.engine.webhooks().retry(first, 0, None).await.unwrap().expect("it is there");
    until(&usher.clock, "what was asked for", Duration::ZERO, async || app.accepted().contains(&(first, 2))).await;
    let all = usize::from(STREAMS) * 3 + 1;
    until(&usher.clock, "everything", Duration::from_secs(15), async || app.accepted().len() >= all).await;
    until(&usher.clock, "the records", Duration::ZERO, async || {
        usher.engine.webhooks().count().await.unwrap().pending == 0
    })
    .await;
    let accepted = app.accepted();
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
    let (store, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 1).await;
    let (unlucky, other) = (reusable_handshake(&usher, "unlucky").await, reusable_handshake(&usher, "other").await);
    app.set(move |post| if post.stream == unlucky && post.tries == 0 { Reply::Panic } else { Reply::Accept });
    usher.receive(1, &user(1), handshake("unlucky", &[])).await;
    until(&usher.clock, "the panic", Duration::ZERO, async || app.posts().len() == 1).await;
    usher.receive(2, &user(2), handshake("other", &[])).await;
    until(&usher.clock, "the other", Duration::ZERO, async || app.accepted().contains(&(other, 0))).await;
    until(&usher.clock, "it", Duration::from_secs(1), async || app.accepted().contains(&(unlucky, 0))).await;
    usher.stop().await;
}

#[tokio::test]
async fn unrecorded_result_does_not_cause_another_post() {
    let dir = tempfile::tempdir().unwrap();
    let (sqlite, app) = (open(dir.path()), Arc::new(FakeApp::default()));
    let store = FaultyStore::on(sqlite.clone());
    store.fail(RECORDS, usize::MAX);
    let usher = Running::start_delivering(sqlite, store.clone(), app.clone()).await;
    let stream = reusable_handshake(&usher, "door").await;
    for n in 1..=2 {
        usher.receive(n, &user(n), handshake("door", &[])).await;
    }
    let hour = NOW.plus(Duration::from_secs(3_600));
    until(&usher.clock, "an hour", Duration::from_secs(2), async || usher.clock.now() >= hour).await;
    assert_eq!(app.accepted(), [(stream, 0)], "posted once");
    let asked = store.calls(RECORDS);
    assert!((10..25).contains(&asked), "the store is asked less and less often: {asked}");
    store.work();
    until(&usher.clock, "the next", Duration::from_secs(2), async || app.accepted().len() == 2).await;
    assert_eq!(app.posts().len(), 2);
    usher.stop().await;
}

#[tokio::test]
async fn downtime_does_not_count_towards_the_retry_period() {
    let dir = tempfile::tempdir().unwrap();
    let (store, app) = (open(dir.path()), FakeApp::new(|_| Reply::Refuse));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), NOW, 1).await;
    let stream = reusable_handshake(&usher, "door").await;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    until(&usher.clock, "a refusal", Duration::ZERO, async || app.posts().len() == 1).await;
    usher.stop().await;

    let later = NOW.plus(Duration::from_secs(4 * 24 * 3600));
    let usher = Running::start_with(store.clone(), store.clone(), Some(app.clone()), options(), later, 2).await;
    until(&usher.clock, "a refusal", Duration::ZERO, async || app.posts().len() == 2).await;
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
    let posts = app.posts().len();
    assert!((15..20).contains(&posts), "by the whole schedule: {posts}");

    app.set(|_| Reply::Accept);
    usher.engine.webhooks().retry(stream, 0, None).await.unwrap().expect("it is there");
    until(&usher.clock, "it", Duration::ZERO, async || app.accepted().len() == 1).await;
    assert_eq!(usher.engine.webhooks().is_failing(), Some(false));
    usher.stop().await;
}
