//! Erasing a user: what is finished and about them goes, and nothing else does.

use usher_testing::ports::Methods;

use crate::common::*;

const RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

async fn erase(usher: &Running, n: u8) -> ErasedUser {
    let erased = usher.engine.erase_user(&user(n).public_key(), None).await.unwrap();
    assert_eq!(erased.next, None);
    erased
}

fn kept(erased: &ErasedUser) -> Vec<(KeptReason, Option<StreamId>, Option<UnixMillis>)> {
    erased.kept.iter().map(|kept| (kept.reason, kept.operation.map(|(stream, _)| stream), kept.until)).collect()
}

/// User `n` gives their key, and proves it; the two streams.
async fn log_in(usher: &mut Running, n: u8, event: u8) -> [StreamId; 2] {
    let started = usher.handshake().await;
    usher.receive(event, &user(n), handshake(&token(&started.url), &["wss://mine.example"])).await;
    usher.events(started.stream_id, 1).await;
    let stream = usher.authenticate(n).await;
    let (message, _) = usher.next_message().await;
    usher.receive(event + 1, &user(n), approval(&challenge(&message))).await;
    assert_eq!(statuses(usher, stream, 1).await, ["approved"]);
    [started.stream_id, stream]
}

async fn is_gone(usher: &Running, stream: StreamId) -> bool {
    matches!(usher.engine.events().read(ShownStream::to_service(stream), 0, 10).await, Err(EventsError::NotFound))
}

#[tokio::test]
async fn finished_streams_of_the_user_are_erased_and_those_of_others_stay() {
    let mut usher = Running::new().await;
    let mine = log_in(&mut usher, 1, 1).await;
    let others = log_in(&mut usher, 2, 3).await;
    let poster = poster(&usher).await;
    let challenge = scan(&mut usher, 1, 5).await;
    usher.receive(6, &user(1), approval(&challenge)).await;
    let challenge = scan(&mut usher, 2, 7).await;
    usher.receive(8, &user(2), approval(&challenge)).await;
    events(&usher, poster.stream_id, 4).await;
    until("the logins are over", async || usher.engine.open_streams() == 2).await;

    let view = usher.engine.user(&user(1).public_key(), None).await.unwrap();
    let shown: Vec<_> = view.logins.iter().copied().collect();
    assert!(mine.iter().chain([&poster.stream_id]).all(|stream| shown.contains(stream)), "{shown:?}");
    assert!(!others.iter().any(|stream| shown.contains(stream)), "{shown:?}");
    assert!(view.records.relays_at.is_some() && view.next.is_none());

    // Both at once: each stream is counted once.
    let (one, two) = tokio::join!(erase(&usher, 1), erase(&usher, 1));
    assert_eq!(one.operations + two.operations, 3, "handshake, authentication, and the login at the poster");
    assert_eq!(usize::from(one.relays) + usize::from(two.relays), 1);
    for stream in mine {
        assert!(is_gone(&usher, stream).await);
    }
    for stream in others {
        assert_eq!(usher.events(stream, 1).await.len(), 1);
    }
    assert_eq!(events(&usher, poster.stream_id, 4).await.len(), 4, "without a gap");

    let again = erase(&usher, 1).await;
    assert_eq!((again.operations, again.relays), (0, false));
    // Not of the two at once: one may still see what the other is about to erase.
    let until = Some(UnixMillis(NOW.0).plus(RETENTION));
    assert_eq!(kept(&again), [(KeptReason::SharedStream, Some(poster.stream_id), until)]);

    // A new user.
    let [handshake, authentication] = log_in(&mut usher, 1, 9).await;
    let now = erase(&usher, 1).await;
    assert_eq!((now.operations, now.relays), (2, true));
    assert!(is_gone(&usher, handshake).await && is_gone(&usher, authentication).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_money_depends_on_is_kept_and_named() {
    let (mut usher, wallet) = Running::paying().await;
    log_in(&mut usher, 1, 1).await;
    let request = |ttl| payment(None, ttl);
    let paid = usher.request_payment(request(80_000)).await;
    let asked = next_message(&mut usher, "amount", &[]).await;
    usher.receive(10, &user(1), says(&request_id(&asked), PaymentStatus::Approved)).await;
    wallet.settle(0);
    assert_eq!(usher.passing(Duration::from_secs(1), statuses(&usher, paid, 2)).await.last().unwrap(), "paid");
    until("it is over", async || usher.engine.open_streams() == 1).await;

    let late = usher.payment_for(60).await;
    pass(&usher, 61).await;
    assert_eq!(statuses(&usher, late, 1).await, ["timeout"]);
    let open = usher.payment_for(80_000).await;
    let mention = SinglePaymentRequest {
        main_key: Some(user(2).public_key()),
        description: format!("a present for {}", user(1).public_key().to_hex()),
        reference: Some(format!(r#"{{"main_key":"{}"}}"#, user(1).public_key().to_hex())),
        ..request(80_000)
    };
    let mention = usher.request_payment(mention).await;

    let view = usher.engine.user(&user(1).public_key(), None).await.unwrap();
    assert_eq!(view.payments.into_iter().collect::<Vec<_>>(), [paid, late, open], "a mention is none");
    let erased = erase(&usher, 1).await;
    assert_eq!((erased.operations, erased.relays), (3, false));
    assert!(is_gone(&usher, paid).await);
    let late_until = usher.read(late, 0).await.paid_late_until;
    assert!(late_until.is_some());
    let mut expected = vec![
        (KeptReason::Open, Some(open), None),
        (KeptReason::LatePayment, Some(late), late_until),
        (KeptReason::Mentioned, Some(mention), None),
        (KeptReason::Relays, None, None),
    ];
    let mut found = kept(&erased);
    expected.sort_by_key(|(reason, ..)| *reason);
    found.sort_by_key(|(reason, ..)| *reason);
    assert_eq!(found, expected);

    // Money arrives late, and for what was open.
    wallet.settle(1);
    wallet.settle(2);
    let arrived = async {
        assert_eq!(statuses(&usher, late, 2).await.last().unwrap(), "paid");
        assert_eq!(statuses(&usher, open, 1).await.last().unwrap(), "paid");
    };
    usher.passing(Duration::from_secs(1), arrived).await;
    until("they are over", async || usher.engine.open_streams() == 2).await;
    let erased = erase(&usher, 1).await;
    assert_eq!((erased.operations, erased.relays), (2, true));
    assert_eq!(kept(&erased), [(KeptReason::Mentioned, Some(mention), None)]);
}

#[tokio::test]
async fn erasure_that_fails_in_the_middle_is_completed_by_the_next() {
    let mut usher = Running::new().await;
    let store = usher.faults.clone();
    let mine = log_in(&mut usher, 1, 1).await;
    until("all is over", async || usher.engine.open_streams() == 1).await;
    let methods: [Methods; 5] = [
        &["forget_user"],
        &["streams_with"],
        &["remove_finished_of"],
        &["idempotency_records_with"],
        &["forget_relays_of"],
    ];
    for method in methods {
        store.fail(method, 1);
        assert!(usher.engine.erase_user(&user(1).public_key(), None).await.is_err(), "{method:?}");
    }
    for stream in mine {
        assert!(is_gone(&usher, stream).await);
    }
    let last = erase(&usher, 1).await;
    assert_eq!((last.operations, last.relays), (0, true));
    assert!(store.user_relays(&user(1).public_key()).await.unwrap().is_empty());
    let key = user(1).public_key().to_hex();
    assert_eq!(store.streams_with(&key, None, 1_000).await.unwrap(), StreamMatches::default());

    // The file has no copy in its free space, neither as text nor as bytes.
    drop(store);
    let world = usher.end().await;
    world.store.close().await;
    for file in std::fs::read_dir(world.path()).unwrap().map(|file| file.unwrap().path()) {
        let content = std::fs::read(&file).unwrap();
        let has = |wanted: &[u8]| content.windows(wanted.len()).any(|found| found == wanted);
        assert!(!has(key.as_bytes()) && !has(user(1).public_key().as_bytes()), "{}", file.display());
    }
}
