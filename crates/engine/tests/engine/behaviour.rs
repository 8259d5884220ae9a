use crate::common::*;

#[tokio::test]
async fn restart_loses_nothing_and_continues() {
    let mut usher = Running::new().await;
    let done = usher.handshake().await;
    usher.receive(1, &user(1), handshake(&token(&done.url), &[])).await;
    let before = usher.page(done.stream_id, 0).await;
    let waiting = usher.handshake().await;
    let reusable_handshake =
        usher.engine.handshakes().start(&Requester::Service, reusable("door"), None).await.unwrap();
    let login = usher.authenticate(1).await;
    let (asked, _) = usher.next_message().await;

    let mut usher = usher.restart(Duration::from_secs(60)).await;
    assert_eq!(usher.read(done.stream_id, 0).await, before);
    assert_eq!(usher.reusable_handshake("door").await, reusable_handshake.stream_id);
    let listed = usher.engine.handshakes().list(&Requester::Service, None, 10).await.unwrap().items;
    assert_eq!(listed.iter().map(|open| open.stream_id).collect::<Vec<_>>(), [reusable_handshake.stream_id]);
    let (again, _) = usher.next_message().await;
    assert_eq!(again.content, asked.content, "what is unanswered is sent again");
    usher.receive(2, &user(1), approval(&challenge(&asked))).await;
    assert_eq!(data(&usher.page(login, 0).await, 0)["status"], "approved");
    usher.receive(3, &user(2), handshake("door", &[])).await;
    assert_eq!(data(&usher.page(reusable_handshake.stream_id, 0).await, 0)["main_key"], user(2).public_key().to_hex());
    usher.clock.turn(Duration::from_secs(540));
    assert_eq!(data(&usher.page(waiting.stream_id, 0).await, 0)["status"], "timeout");
}

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
async fn requests_that_expired_during_downtime_time_out_at_start() {
    let usher = Running::new().await;
    let streams = [usher.authenticate(1).await, usher.authenticate(2).await];
    let mut usher = usher.restart(Duration::from_secs(301)).await;
    for stream in streams {
        let page = usher.page(stream, 0).await;
        assert_eq!((page.events.len(), page.done), (1, true));
        assert_eq!(data(&page, 0)["status"], "timeout");
    }
    assert!(usher.messages.try_recv().is_err(), "nothing is sent for what has expired");
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
async fn open_streams_are_limited_and_finished_ones_make_room() {
    let usher = Running::with_options(EngineOptions { max_open_streams: 2, ..options() }).await;
    let first = usher.handshake().await;
    usher.authenticate(1).await;
    let third = AuthenticateKey { main_key: user(1).public_key(), subkeys: Vec::new() };
    assert!(matches!(
        usher.engine.logins().authenticate(&Requester::Service, third, None).await,
        Err(StartError::TooManyOpen)
    ));
    usher.receive(1, &user(1), handshake(&token(&first.url), &[])).await;
    usher.page(first.stream_id, 0).await;
    usher.authenticate(1).await;
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
