//! Deliveries to the webhook, and idempotent requests, on a real store.

use usher_testing::ports::{Post, Reply};

use crate::common::*;

/// The subscription that an event on the reserved stream is about.
fn id_of(post: &Post) -> Option<String> {
    let data: serde_json::Value = serde_json::from_str(&post.data).unwrap();
    (post.stream == StreamId::SUBSCRIPTIONS).then(|| data["subscription_id"].as_str().unwrap().to_owned())
}

/// The reserved stream has the events of all subscriptions. If the app always refuses those of one subscription, the others
/// are not delayed.
#[tokio::test]
async fn refused_subscription_event_does_not_delay_other_subscriptions() {
    let mut usher = Running::with(&[Part::Webhook]).await;
    let app = usher.app.clone();
    app.set(|post| if id_of(post) == Some("bad".to_owned()) { Reply::Refuse } else { Reply::Accept });
    let accepted = async |usher: &Running, step: Duration, ids: &[&str]| {
        let accepted = |posts: &[Post]| {
            let accepted = posts.iter().filter(|post| post.reply == Reply::Accept);
            accepted.filter_map(id_of).eq(ids.iter().copied())
        };
        usher.passing(step, app.until("these are accepted", accepted)).await;
    };
    for (event, id) in (1..).zip(["bad", "good", "later"]) {
        subscribe_as(&mut usher, id, event, false, NOW.secs() + 3_600).await;
        while usher.messages.try_recv().is_ok() {}
    }
    usher.receive(11, &user(1), close("bad")).await;
    app.until("it is refused", |posts| posts.iter().any(|post| post.reply == Reply::Refuse)).await;
    usher.receive(12, &user(1), close("good")).await;
    accepted(&usher, Duration::from_millis(100), &["good"]).await;

    // So it is after a restart; and in the end the refused one comes.
    let usher = usher.restart(Duration::from_secs(60)).await;
    usher.receive(13, &user(1), close("later")).await;
    accepted(&usher, Duration::from_millis(100), &["good", "later"]).await;
    app.set(|_| Reply::Accept);
    accepted(&usher, Duration::from_secs(5), &["good", "later", "bad"]).await;
    assert_eq!(usher.store.count_deliveries().await.unwrap().failed, 0);
}

#[tokio::test]
async fn receiver_hanging_on_one_stream_does_not_delay_another() {
    let usher = Running::with(&[Part::Webhook]).await;
    let app = usher.app.clone();
    let (stuck, good) = (usher.reusable_handshake("stuck").await, usher.reusable_handshake("good").await);
    app.set(move |post| if post.stream == stuck { Reply::Hang } else { Reply::Accept });
    usher.receive(1, &user(1), handshake("stuck", &[])).await;
    for n in 2..=6 {
        usher.receive(n, &user(n), handshake("good", &[])).await;
    }
    let got = app.accepts(5).await;
    assert!(got.iter().all(|(stream, _)| *stream == good));
    // What hangs does not keep the engine from stopping, and is posted again after the restart.
    let world = usher.end().await;
    app.set(|_| Reply::Accept);
    let _usher = world.start(NOW).await;
    assert_eq!(app.accepts(6).await[5], (stuck, 0));
}

#[tokio::test]
async fn without_a_webhook_deliveries_do_not_accumulate() {
    let usher = Running::with(&[Part::Webhook]).await;
    usher.app.set(|_| Reply::Refuse);
    let stream = usher.reusable_handshake("door").await;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    usher.page(stream, 0).await;
    let later = NOW.plus(Duration::from_secs(4 * 24 * 3600));
    let usher = World { parts: &[], ..usher.end().await }.start(later).await;
    usher.receive(2, &user(2), handshake("door", &[])).await;
    usher.page(stream, 1).await;
    // A clock that is days ahead of the last record may be wrong: nothing is removed for a day.
    let counts = async || usher.store.count_deliveries().await.unwrap();
    let one_failed = async || (counts().await.pending, counts().await.failed) == (0, 1);
    usher.until(Duration::from_secs(600), "not given up", one_failed).await;
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
    let usher = Running::new().await;
    let start = async |usher: &Running, request: KeyHandshakeRequest, once: Option<IdempotentRequest<_>>| {
        usher.engine.handshakes().start(&Requester::Service, request, once).await
    };
    let single = KeyHandshakeRequest::default;
    let first = start(&usher, single(), Some(once(1))).await.unwrap();
    let kept = usher.engine.idempotency().get(&IdempotencyKey([1; 32])).await.unwrap().unwrap();
    assert_eq!((kept.status, kept.fingerprint), (200, [9; 32]));
    assert_eq!(kept.body, first.stream_id.to_string().into_bytes());
    let open_before = usher.engine.open_streams();
    assert!(matches!(start(&usher, single(), Some(once(1))).await, Err(StartError::Repeated)));
    assert_eq!(usher.engine.open_streams(), open_before, "nothing was started");

    let usher = usher.restart(Duration::from_secs(86_399)).await;
    assert_eq!(
        usher.engine.idempotency().get(&IdempotencyKey([1; 32])).await.unwrap(),
        Some(kept),
        "also after a restart"
    );
    usher.clock.turn(Duration::from_secs(2));
    assert_eq!(usher.engine.idempotency().get(&IdempotencyKey([1; 32])).await.unwrap(), None, "for 24 hours");
    let next_day = start(&usher, single(), Some(once(1))).await.unwrap();
    assert_ne!(next_day.stream_id, first.stream_id);

    // Also of one that started nothing.
    let open = start(&usher, reusable("door"), None).await.unwrap();
    let same = start(&usher, reusable("door"), Some(once(2))).await.unwrap();
    assert_eq!(same.stream_id, open.stream_id);
    let kept = usher.engine.idempotency().get(&IdempotencyKey([2; 32])).await.unwrap().unwrap();
    assert_eq!(kept.body, open.stream_id.to_string().into_bytes());

    // A clock that leaps makes no response older: the request could be repeated, and its payment made twice.
    usher.clock.turn_forward(Duration::from_secs(25 * 3600));
    assert_eq!(usher.engine.idempotency().get(&IdempotencyKey([2; 32])).await.unwrap(), Some(kept));
    usher.clock.turn(Duration::from_secs(601));
    assert_eq!(usher.engine.idempotency().get(&IdempotencyKey([2; 32])).await.unwrap(), None);
}

#[tokio::test]
async fn unrecorded_result_does_not_cause_another_post() {
    let usher = Running::with(&[Part::Webhook]).await;
    let (app, store) = (usher.app.clone(), usher.faults.clone());
    store.fail(&["record_attempt"], usize::MAX);
    let stream = usher.reusable_handshake("door").await;
    for n in 1..=2 {
        usher.receive(n, &user(n), handshake("door", &[])).await;
    }
    let hour = NOW.plus(Duration::from_secs(3_600));
    usher.until(Duration::from_secs(2), "an hour", async || usher.clock.now() >= hour).await;
    assert_eq!(app.accepted(), [(stream, 0)], "posted once");
    let asked = store.calls(&["record_attempt"]);
    assert!((10..25).contains(&asked), "the store is asked less and less often: {asked}");
    store.work();
    usher.until(Duration::from_secs(2), "the next", async || app.accepted().len() == 2).await;
    assert_eq!(app.posts().len(), 2);
}

#[tokio::test]
async fn downtime_does_not_count_towards_the_retry_period() {
    let usher = Running::with(&[Part::Webhook]).await;
    let app = usher.app.clone();
    app.set(|_| Reply::Refuse);
    let stream = usher.reusable_handshake("door").await;
    usher.receive(1, &user(1), handshake("door", &[])).await;
    usher.until(Duration::ZERO, "a refusal", async || app.posts().len() == 1).await;

    let later = NOW.plus(Duration::from_secs(4 * 24 * 3600));
    let usher = usher.end().await.start(later).await;
    usher.until(Duration::ZERO, "a refusal", async || app.posts().len() == 2).await;
    usher
        .until(Duration::ZERO, "its record", async || {
            usher.store.delivery(stream, 0).await.unwrap().is_some_and(|delivery| delivery.attempts == 2)
        })
        .await;
    assert_eq!(usher.engine.webhooks().is_failing(), Some(true));
    let failed = async || usher.engine.webhooks().count().await.unwrap().failed == 1;
    assert!(!failed().await, "it is tried on");
    // Three days of trying, up to a fifth more.
    usher.until(Duration::from_secs(900), "its end", failed).await;
    let tried = usher.clock.now().since(later);
    assert!((70..90).contains(&(tried.as_secs() / 3600)), "{tried:?}");
    let posts = app.posts().len();
    assert!((15..20).contains(&posts), "by the whole schedule: {posts}");

    let list = usher.engine.webhooks().list(DeliveryStatus::Failed, None, 10).await.unwrap();
    assert_eq!((list[0].event.index, list[0].last_status), (0, Some(500)));

    // What comes after one that has failed does not wait for it.
    app.set(|_| Reply::Accept);
    usher.receive(2, &user(2), handshake("door", &[])).await;
    usher.until(Duration::ZERO, "the next", async || app.accepted() == [(stream, 1)]).await;
    assert!(usher.engine.webhooks().retry(&Requester::Service, stream, 7, None).await.unwrap().is_none());
    let retried = usher.engine.webhooks().retry(&Requester::Service, stream, 0, None).await.unwrap().unwrap();
    assert_eq!((retried.status, retried.attempts), (DeliveryStatus::Pending, 0));
    usher.until(Duration::ZERO, "it", async || app.accepted().len() == 2).await;
    assert_eq!(usher.engine.webhooks().is_failing(), Some(false));
}
