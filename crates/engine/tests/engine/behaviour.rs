use crate::common::*;

#[tokio::test]
async fn received_messages_are_processed_before_the_stop() {
    let usher = Running::new().await;
    let mut started = Vec::new();
    for _ in 0..16 {
        started.push(usher.handshake().await);
    }
    for (n, started) in (1..).zip(&started) {
        usher.receive(n, &user(n), handshake(&token(&started.url), &[])).await;
    }
    let World { store, .. } = usher.end().await;
    for started in started {
        assert_eq!(store.events(started.stream_id, 0, 10).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn concurrent_requests_with_one_static_token_open_one_stream() {
    let usher = Running::new().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let engine = usher.engine.clone();
        calls.spawn(
            async move { engine.handshakes().start(&Requester::Service, reusable("door"), None).await.unwrap() },
        );
    }
    let mut answers: Vec<_> = calls.join_all().await.into_iter().map(|call| (call.stream_id, call.url)).collect();
    answers.dedup();
    assert_eq!(answers.len(), 1);
}

#[tokio::test]
async fn finished_streams_are_removed_after_retention_and_open_ones_stay() {
    let usher = Running::new().await;
    let done = usher.handshake().await;
    let reusable_handshake =
        usher.engine.handshakes().start(&Requester::Service, reusable("door"), None).await.unwrap();
    usher.receive(1, &user(1), handshake(&token(&done.url), &[])).await;
    usher.page(done.stream_id, 0).await;
    usher.clock.turn(options().retention);
    usher
        .until(Duration::from_secs(3600), "still there", async || {
            usher.engine.events().read(ShownStream::to_service(done.stream_id), 0, 10).await.is_err()
        })
        .await;
    for open in [reusable_handshake.stream_id, StreamId::SUBSCRIPTIONS] {
        assert!(!usher.read(open, 0).await.done);
    }
    let unknown = StreamId::from_parts(NOW.0, [1; 10]);
    assert!(matches!(
        usher.engine.events().read(ShownStream::to_service(unknown), 0, 10).await,
        Err(EventsError::NotFound)
    ));
}
